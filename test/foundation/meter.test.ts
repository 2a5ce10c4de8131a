import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { ALLOWANCES, allowanceOf, Meter, type Metered } from '../../src/foundation/meter.ts';

describe.each(Object.keys(ALLOWANCES) as Metered[])('the allowance of %s', (what) => {
  it.each([0, 1, 50])('bounds a request of price %i, and says by how much', (units) => {
    const allowance = allowanceOf(what, units);
    const meter = new Meter(units);
    meter.draw(what, allowance - Math.floor(allowance / 2));
    meter.draw(what, Math.floor(allowance / 2));
    expect(meter.left(what)).toBe(0);
    expect(() => meter.draw(what, 1)).toThrow(
      expect.objectContaining({
        code: 'QUERY_TOO_COMPLEX',
        message: expect.stringContaining(` more than ${allowance.toLocaleString('en-US')} `),
      }),
    );
  });

  it('never shrinks with the price', () => {
    expect(allowanceOf(what, 1)).toBeGreaterThanOrEqual(allowanceOf(what, 0));
    expect(allowanceOf(what, 2)).toBeGreaterThanOrEqual(allowanceOf(what, 1));
  });
});

it('returns the remaining allowance, for readers that can end early', () => {
  const meter = new Meter(2);
  meter.draw('events', 1_999);
  expect(meter.left('events')).toBe(1);
  meter.spend('events', 5);
  expect(meter.left('events')).toBe(0);
  // What is counted in one place does not touch the rest.
  expect(meter.left('records')).toBe(allowanceOf('records', 2));
});

it('has its table in docs/operating.md', async () => {
  const page = await readFile('docs/operating.md', 'utf8');
  const rows = page.matchAll(/^\| `(\w+)` \| [^|]+ \| ([\d,]+) \| ([\d,]+) \|$/gm);
  const documented = [...rows].map(([, name, ...figures]) => [name, ...figures]);
  const expected = Object.entries(ALLOWANCES).map(([name, { base, perUnit }]) => [
    name,
    ...[base, perUnit].map((figure) => figure.toLocaleString('en-US')),
  ]);
  expect(documented).toEqual(expected);
});
