import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseId } from '../../src/foundation/id.ts';

const LARGEST = 9223372036854775807n;

describe('parseId', () => {
  it('accepts every positive int64 as a bigint or string, and as a number if it is safe', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: LARGEST }), (id) => {
        expect(parseId(id)).toBe(String(id));
        expect(parseId(String(id))).toBe(String(id));
        if (id <= BigInt(Number.MAX_SAFE_INTEGER)) expect(parseId(Number(id))).toBe(String(id));
      }),
    );
    expect(parseId(String(LARGEST))).toBe(String(LARGEST));
  });

  it('rejects everything else', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true }), (value) => {
        const id = parseId(value);
        if (id !== null)
          expect(
            BigInt(value as string) > 0n && BigInt(value as string) <= LARGEST && String(value) === id,
          ).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    const numbers = [0n, -1n, LARGEST + 1n, 0, -0, -1, 1.5, Number.NaN, 2 ** 53, Infinity];
    const texts = [String(LARGEST + 1n), '', '0', '01', '+1', '1.0', '1e3', ' 1', '1\n', '１'];
    for (const value of [...numbers, ...texts, null, undefined, true, [1], {}])
      expect(parseId(value), String(value)).toBeNull();
  });
});
