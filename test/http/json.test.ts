import fc from 'fast-check';
import { parse, stringify } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/http/json.ts';

const read = (text: string) => parseJson(Buffer.from(text));

describe('parseJson', () => {
  it('reads what JSON.parse does, where that loses nothing', () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        // Integers that may be rounded, and numbers that only look like integers, are another matter.
        fc.pre(!/\d[.eE]|\d{16}/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '')));
        expect(read(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('keeps every integer exact', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        expect(BigInt((read(`{"a":[${integer}]}`) as { a: [bigint | number] }).a[0])).toBe(integer);
      }),
    );
  });

  it('finds a name that is given twice, whatever is in the strings', () => {
    const name = fc.oneof(
      fc.string(),
      fc.constantFrom('":', '"a":1', '\\', '\\"', ': ', '1234567890123456', 'é'),
    );
    const object = fc.array(fc.tuple(name, fc.oneof(name, fc.constantFrom(1, 12345678901234567890n, null))), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(object, fc.constantFrom(':', ' : ', '\n:\t'), (fields, colon) => {
        const text = `{"list":[{${fields.map(([key, value]) => `${JSON.stringify(key)}${colon}${stringify(value)}`)}}]}`;
        const isDistinct = new Set(fields.map(([key]) => key)).size === fields.length;
        if (isDistinct)
          expect(read(text)).toEqual(
            parse(text, undefined, {
              parseNumber: (one) => (Number.isSafeInteger(Number(one)) ? Number(one) : BigInt(one)),
            }),
          );
        else expect(() => read(text), text).toThrow('The body has a duplicate name in an object.');
      }),
      { numRuns: 2_000 },
    );
  });

  it('never throws anything but BAD_REQUEST', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 30 }), (bytes) => {
        try {
          parseJson(Buffer.from(bytes));
        } catch (error) {
          expect((error as { code: string }).code).toBe('BAD_REQUEST');
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
