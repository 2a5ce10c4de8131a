import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJson } from '../../src/graphql/json.ts';

describe('JSON', () => {
  it('of what has no bigints is that of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(toJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('leaves out what is undefined and keeps bigints', () => {
    const value = { a: undefined, b: [null, { c: undefined, d: 9223372036854775807n }], e: {} };
    expect(toJson(value)).toBe('{"b":[null,{"d":9223372036854775807}],"e":{}}');
  });

  it('of what cannot be serialised for another reason than a bigint is none', () => {
    const broken = {
      toJSON() {
        throw new RangeError('a bug of ours');
      },
    };
    expect(() => toJson({ broken })).toThrow('a bug of ours');
  });
});
