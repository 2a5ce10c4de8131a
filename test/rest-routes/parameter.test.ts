import { expect, it } from 'vitest';
import type { Issue } from '../../src/foundation/errors.ts';
import { date, integer } from '../../src/foundation/fields.ts';
import { filterParameter, readTexts } from '../../src/rest-routes/parameter.ts';

/** Fields of kinds that no domain filters by yet. */
const record = { fields: { level: integer(-2, 40, 'The level', 3), day: date('The day', '2026-11-22') } };

it.each([
  [
    'level',
    { '-2': -2, 0: 0, 40: 40 },
    ['41', '-3', '03', '-0', '1.0', '1e1', ''],
    'an integer from -2 to 40',
  ],
  ['day', { '2028-02-29': '2028-02-29' }, ['2026-02-29', '+010000-01'], 'a date such as 2026-11-22'],
])('a filter by %s reads %j, and nothing else', (name, values, others, rule) => {
  const read = (text: string, issues: Issue[] = []) => [
    readTexts(new Map([[name, [text]]]), [filterParameter(record as never, name)], issues),
    issues,
  ];
  for (const [text, value] of Object.entries(values)) expect(read(text)).toEqual([{ [name]: value }, []]);
  for (const text of others) expect(read(text)).toEqual([{}, [{ path: name, message: `must be ${rule}` }]]);
});
