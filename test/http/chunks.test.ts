import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHUNK_SIZE, chunksOf } from '../../src/http/chunks.ts';

describe('chunksOf', () => {
  it('splits text without splitting a character', () => {
    const lengths = fc.integer({ min: 0, max: 3 }).map((count) => count * CHUNK_SIZE);
    fc.assert(
      fc.property(
        lengths,
        fc.integer({ min: -3, max: 3 }),
        fc.constantFrom('a', '😀', 'a😀'),
        (length, offset, unit) => {
          const text = unit.repeat(Math.ceil(Math.max(0, length + offset) / unit.length));
          const chunks = [...chunksOf(text)];
          expect(chunks.join('') === text).toBe(true);
          expect(Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))).equals(Buffer.from(text))).toBe(
            true,
          );
          for (const chunk of chunks) expect(chunk.length).toBeLessThanOrEqual(CHUNK_SIZE + 1);
        },
      ),
    );
  });

  it('splits a buffer without copying it', () => {
    const bytes = Buffer.alloc(2.5 * CHUNK_SIZE, 'x');
    const chunks = [...chunksOf(bytes)];
    expect(chunks.map(({ length }) => length)).toEqual([CHUNK_SIZE, CHUNK_SIZE, CHUNK_SIZE / 2]);
    expect(chunks[1]!.buffer).toBe(bytes.buffer);
  });
});
