import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatInstant, parseInstant } from '../../src/domains/instant.ts';

const instant = fc
  .date({
    min: new Date('0000-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.getTime());

describe('parseInstant', () => {
  it('parses what formatInstant writes, with milliseconds only if they are not zero', () => {
    fc.assert(
      fc.property(instant, (ms) => {
        const text = formatInstant(ms);
        expect(parseInstant(text)).toBe(ms);
        expect(text).toMatch(ms % 1000 === 0 ? /:\d\dZ$/ : /\.\d{3}Z$/);
      }),
    );
  });

  it('parses the same instant at every offset', () => {
    fc.assert(
      fc.property(instant, fc.integer({ min: -1439, max: 1439 }), (ms, offset) => {
        const local = ms + offset * 60_000;
        fc.pre(
          local >= Date.parse('0000-01-01T00:00:00Z') && local <= Date.parse('9999-12-31T23:59:59.999Z'),
        );
        const two = (value: number) => String(value).padStart(2, '0');
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
        expect(parseInstant(new Date(local).toISOString().replace('Z', zone))).toBe(ms);
      }),
    );
  });

  it('rejects malformed and impossible date-times', () => {
    for (const text of [
      '2026-02-29T00:00:00Z',
      '2026-04-31T00:00:00Z',
      '2026-01-31T24:00:00Z',
      '2026-01-31T23:59:60Z',
      '2026-01-31',
      '1',
      'Jan 31 2026',
      '+012026-01-31T00:00:00Z',
      '-000001-01-31T00:00:00Z',
      '2026-01-31T00:00:00+1:00',
      '2026-01-31T00:00:00Z\n',
    ]) {
      expect(parseInstant(text), text).toBeNull();
    }
  });
});
