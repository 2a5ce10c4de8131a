import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJson } from '../../src/schema/json.ts';

describe('toJson', () => {
  it('equals JSON.stringify for values without bigints', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(toJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it('omits undefined fields and writes bigints exactly', () => {
    const value = { a: undefined, b: [null, { c: undefined, d: 9223372036854775807n }], e: {} };
    expect(toJson(value)).toBe('{"b":[null,{"d":9223372036854775807}],"e":{}}');
  });

  it('rethrows errors that no bigint caused', () => {
    const broken = {
      toJSON() {
        throw new RangeError('a bug of ours');
      },
    };
    expect(() => toJson({ broken })).toThrow('a bug of ours');
  });
});
