import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPieces, toJson } from '../../src/schema/json-text.ts';
import { anyCharacter, cases } from '../kit/cases.ts';

describe('toJson', () => {
  it('omits undefined fields and writes bigints exactly', () => {
    const value = { a: undefined, b: [null, { c: undefined, d: 9223372036854775807n }], e: {} };
    expect(toJson(value)).toBe('{"b":[null,{"d":9223372036854775807}],"e":{}}');
  });

  it('rethrows errors that no bigint caused', () => {
    const broken = {
      toJSON() {
        throw new RangeError('a bug');
      },
    };
    expect(() => toJson({ broken })).toThrow('a bug');
  });
});

describe('jsonPieces', () => {
  it('joins to what toJson writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
        expect([...jsonPieces(value)].join('')).toBe(toJson(value));
      }),
      { numRuns: cases(25, 500) },
    );
    const value = { a: undefined, b: [null, { c: undefined, d: 9223372036854775807n }], e: {}, f: [] };
    expect([...jsonPieces(value)]).toEqual([toJson(value)]);
  });

  it('holds 64 kB at most, whatever the script, however often a text occurs', () => {
    const description = '😀'.repeat(2_000);
    const rows = Array.from({ length: 2_000 }, () => ({ description, again: description }));
    let bytes = 0;
    for (const piece of jsonPieces({ rows })) {
      expect(Buffer.byteLength(piece)).toBeLessThan(65_536);
      bytes += Buffer.byteLength(piece);
    }
    expect(bytes).toBeGreaterThan(2_000 * 2 * 8_000);
  });
});
