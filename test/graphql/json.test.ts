import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonPieces } from '../../src/graphql/json.ts';

describe('JSON in pieces', () => {
  it('is the JSON of the whole', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value));
      }),
    );
  });

  it('leaves out what is undefined and keeps bigints', () => {
    const value = { a: undefined, b: [undefined, { c: undefined, d: 9223372036854775807n }], e: {} };
    expect([...jsonPieces(value)].join('')).toBe('{"b":[null,{"d":9223372036854775807}],"e":{}}');
  });

  it('never holds more than a row and a piece', () => {
    const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: 'x'.repeat(100) }));
    const pieces = [...jsonPieces({ data: { rows } })];
    expect(pieces.length).toBeGreaterThan(10);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(40_000);
  });
});
