import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHUNK_SIZE, chunksOf } from '../../src/http/chunks.ts';

describe('The pieces of a body', () => {
  it('are its text, with no character cut in two', () => {
    const lengths = fc.integer({ min: 0, max: 3 }).map((pieces) => pieces * CHUNK_SIZE);
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: -3, max: 3 }),
        fc.constantFrom('a', '😀', 'a😀'),
        (near, by, unit) => {
          const text = unit.repeat(Math.ceil(Math.max(0, near + by) / unit.length));
          const pieces = [...chunksOf(text)];
          expect(pieces.join('') === text).toBe(true);
          expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).equals(Buffer.from(text))).toBe(
            true,
          );
          for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(CHUNK_SIZE + 1);
        },
      ),
    );
  });

  it('are the bytes of a buffer, which is not copied', () => {
    const bytes = Buffer.alloc(2.5 * CHUNK_SIZE, 'x');
    const pieces = [...chunksOf(bytes)];
    expect(pieces.map(({ length }) => length)).toEqual([CHUNK_SIZE, CHUNK_SIZE, CHUNK_SIZE / 2]);
    expect(pieces[1]!.buffer).toBe(bytes.buffer);
  });
});
