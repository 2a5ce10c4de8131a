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
});

it('spends what readers that end early examine, each kind of work on its own', () => {
  const meter = new Meter(2);
  meter.spend('events', 2_005);
  expect([meter.left('events'), meter.left('records')]).toEqual([0, allowanceOf('records', 2)]);
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
