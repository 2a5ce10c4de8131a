import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCursor, encodeCursor, MAX_CURSOR_LENGTH, type Position } from '../../src/foundation/cursor.ts';

const isAny = () => true;
const position: fc.Arbitrary<Position> = fc.record({
  value: fc.oneof(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.integer(), fc.constant(null)),
  id: fc.bigInt({ min: 1n, max: 9223372036854775807n }).map(String),
});

describe('a cursor', () => {
  it('decodes to its position for the same order only, and fits a header', () => {
    fc.assert(
      fc.property(position, (place) => {
        const cursor = encodeCursor('-name', place);
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(decodeCursor('-name', cursor, isAny)).toEqual(place);
        expect(decodeCursor('name', cursor, isAny)).toBeNull();
        expect(decodeCursor('-name', cursor, () => false)).toBeNull();
      }),
    );
    const longest = encodeCursor('-name', { value: '\u{1f436}'.repeat(200), id: '9223372036854775807' });
    expect(longest.length).toBeLessThanOrEqual(MAX_CURSOR_LENGTH);
  });

  it('has one form, and its place an id', () => {
    const cursor = encodeCursor('name', { value: 'Rex', id: '7' });
    for (const other of [`${cursor}=`, `${cursor} `, cursor.slice(0, -1)])
      expect(decodeCursor('name', other, isAny)).toBeNull();
    for (const content of ['["name","Rex",7]', '["name","Rex","0"]', '["name", "Rex","7"]', '{}', 'null'])
      expect(decodeCursor('name', Buffer.from(content).toString('base64url'), isAny)).toBeNull();
  });

  it.each(['', '0', '17', 'bnVsbA', 'x'.repeat(100_000)])('is never %s', (text) => {
    expect(decodeCursor('name', text, isAny)).toBeNull();
  });
});
