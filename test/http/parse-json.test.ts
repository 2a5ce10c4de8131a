import fc from 'fast-check';
import { inspect } from 'graphql/jsutils/inspect.js';
import { describe, expect, it } from 'vitest';
import { asObject, parseJson } from '../../src/http/parse-json.ts';
import { anyCharacter, cases } from '../kit/cases.ts';

const read = (text: string) => parseJson(Buffer.from(text));

describe('parseJson', () => {
  it('returns what JSON.parse does if that is exact', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
        const text = JSON.stringify(value);
        // Skip integers that JSON.parse may round, and numbers with a fraction or exponent.
        fc.pre(!/\d[.eE]|\d{16}/.test(text.replace(/"(?:[^"\\]|\\.)*"/g, '')));
        expect(read(text)).toEqual(JSON.parse(text));
      }),
      { numRuns: cases(50, 1_000) },
    );
  });

  it('returns every integer exactly', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), (integer) => {
        expect(BigInt((read(`{"a":[${integer}]}`) as { a: [bigint | number] }).a[0])).toBe(integer);
      }),
    );
  });

  it('takes a number for its value, however it is written, and keeps what no double holds as it was sent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.nat(25), (integer, places) => {
        const [sign, digits] = integer < 0n ? ['-', String(-integer)] : ['', String(integer)];
        const padded = digits.padStart(places + 1, '0');
        const point = padded.length - places;
        for (const literal of [
          `${integer}.${'0'.repeat(places + 1)}`,
          `${integer}${'0'.repeat(places)}E-${places}`.replace(/^(-?)0+(?=\d)/, '$1'),
          `${sign}${padded.slice(0, point)}.${padded.slice(point)}0e+${places}`,
        ])
          expect(read(`[${literal}]`), literal).toEqual(read(`[${integer}]`));
      }),
    );
    expect(read('[2.0, 1e1, -0.0, 0e5, 9007199254740993.0, 922337203685477580.7e1]')).toEqual([
      2,
      10,
      0,
      0,
      9007199254740993n,
      9223372036854775807n,
    ]);
    expect(read('[2.5, 1e-7]')).toEqual([2.5, 1e-7]);
    for (const literal of ['2.50', '1e400', '1e999999999', '9007199254740993.5', `1.${'0'.repeat(90_000)}1`])
      expect(inspect((read(`[${literal}]`) as [unknown])[0]), literal.slice(0, 30)).toBe(literal);
  });

  it('says where what is not JSON begins', () => {
    expect(() => read('{\n  "name": }')).toThrow('The body is not valid JSON (line 2, column 11).');
  });

  it.each([
    '',
    ' ',
    '{',
    '{"name":}',
    '{} {}',
    "{'a':1}",
    '{"a":1,}',
    '// x',
    '{"a":\u0001}',
    'undefined',
    '{"name":"\u0001"}',
    '['.repeat(50_000),
    '{"a":'.repeat(15_000),
    '+1',
    '01',
    '.5',
    '1.',
    '0x1',
    'NaN',
    '{\0}',
  ])('rejects what is not JSON: %.20j', (text) => {
    expect(() => read(text)).toThrow('The body is not valid JSON');
  });

  it.each(['latin1', 'utf16le'] as const)('rejects %s', (encoding) => {
    expect(() => parseJson(Buffer.from('\ufeff{"name":"caf\xe9"}', encoding))).toThrow(
      'The body is not valid UTF-8.',
    );
  });

  it.each(['[]', '[{}]', 'null', 'true', '7', '2.50', '"x"', '12345678901234567890'])(
    'gives no object for %s',
    (text) => {
      expect(() => asObject(read(text))).toThrow('The body must be a JSON object.');
    },
  );
});
