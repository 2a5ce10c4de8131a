import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PIECE, piecesOf } from '../../src/http/pieces.ts';

describe('The pieces of a body', () => {
  it('are its text, with no character cut in two', () => {
    const lengths = fc.integer({ min: 0, max: 3 }).map((pieces) => pieces * PIECE);
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: -3, max: 3 }),
        fc.constantFrom('a', '😀', 'a😀'),
        (near, by, unit) => {
          const text = unit.repeat(Math.ceil(Math.max(0, near + by) / unit.length));
          const pieces = [...piecesOf(text)];
          expect(pieces.join('') === text).toBe(true);
          expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).equals(Buffer.from(text))).toBe(
            true,
          );
          for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(PIECE + 1);
        },
      ),
    );
  });

  it('are the bytes of a buffer, which is not copied', () => {
    const bytes = Buffer.alloc(2.5 * PIECE, 'x');
    const pieces = [...piecesOf(bytes)];
    expect(pieces.map(({ length }) => length)).toEqual([PIECE, PIECE, PIECE / 2]);
    expect(pieces[1]!.buffer).toBe(bytes.buffer);
  });
});
