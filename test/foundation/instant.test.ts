import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatInstant, parseInstant } from '../../src/foundation/instant.ts';

const instant = fc
  .date({
    min: new Date('0000-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59.999Z'),
    noInvalidDate: true,
  })
  .map((date) => date.getTime());

describe('parseInstant', () => {
  it.each([
    ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z'],
    ['2026-01-31t09:30:00.5z', '2026-01-31T09:30:00.500Z'],
    ['2026-01-31T09:30:00.0009Z', '2026-01-31T09:30:00Z'],
    ['2026-01-31T09:30:00.123999999999Z', '2026-01-31T09:30:00.123Z'],
    ['2026-01-31T23:30:00-01:30', '2026-02-01T01:00:00Z'],
    ['2026-01-01T00:00:00+23:59', '2025-12-31T00:01:00Z'],
    ['2026-01-31T09:30:00-00:00', '2026-01-31T09:30:00Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00Z'],
    ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00Z'],
    ['0001-01-01T00:30:00+00:30', '0001-01-01T00:00:00Z'],
    ['1969-12-31T23:59:59.999Z', '1969-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('parses %s as %s', (text, utc) => {
    expect(formatInstant(parseInstant(text)!)).toBe(utc);
  });

  it.each([
    ...['', '2026-01-31', '2026-01-31T09:30Z', '2026-01-31T09:30:00'],
    ...['2026-01-31 09:30:00Z', ' 2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z\n', '2026-01-31T09:30:00.Z'],
    ...['2026-01-31T09:30:00,5Z', '2026-01-31T09:30:60Z', '2026-01-31T09:60:00Z', '2026-01-31T24:00:00Z'],
    ...['2026-02-29T00:00:00Z', '1900-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-04-31T00:00:00Z'],
    ...['2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-01-00T00:00:00Z', '2026-01-32T00:00:00Z'],
    ...[
      '2026-01-31T09:30:00+24:00',
      '2026-01-31T09:30:00+01:60',
      '2026-01-31T09:30:00+0100',
      '2026-01-31T09:30:00+01',
    ],
    ...[
      '+002026-01-31T09:30:00Z',
      '-000001-01-31T09:30:00Z',
      '0000-01-01T00:00:00+00:01',
      '9999-12-31T23:59:59-00:01',
    ],
    ...['1', 'Jan 31 2026', '2026-01-31T00:00:00+1:00', '２０26-01-31T09:30:00Z'],
  ])('rejects %j', (text) => {
    expect(parseInstant(text)).toBeNull();
  });

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
});
