import { expect, it } from 'vitest';
import type { Issue } from '../../src/foundation/errors.ts';
import { boolean, choice, choices, date, instant, integer } from '../../src/foundation/fields.ts';
import { declareRecord } from '../../src/foundation/record.ts';
import { filterParameter, readTexts } from '../../src/schema/parameter.ts';

const Floor = choices('Floor', 'A floor.', { lower: 'Below.', upper: 'Above.' });
const Visit = declareRecord({
  kind: 'visit',
  plural: 'visits',
  type: 'Visit',
  description: 'A visit.',
  fields: {
    level: integer(-2, 40, 'The level', 3),
    day: date('The day', '2026-11-22'),
    time: instant('The time', '2026-11-22T10:00:00Z'),
    paid: boolean('Whether it was paid', true),
    floor: choice(Floor, 'The floor', 'lower'),
  },
});

it.each([
  [
    'level',
    { '-2': -2, 0: 0, 40: 40 },
    ['41', '-3', '03', '-0', '1.0', '1e1', '+1', ' 1', ''],
    'an integer from -2 to 40',
  ],
  ['day', { '2028-02-29': '2028-02-29' }, ['2026-02-29', '2026-2-1'], 'a date such as 2026-11-22'],
  [
    'time',
    { '2026-11-22T10:00:00.500+01:00': '2026-11-22T09:00:00.500Z' },
    ['2026-11-22'],
    'an RFC 3339 date-time such as 2026-01-31T09:30:00Z',
  ],
  ['paid', { true: true, false: false }, ['1'], 'true or false'],
  ['floor', { lower: ['lower'] }, ['attic'], 'one of lower, upper'],
])('a filter by %s reads %j, and nothing else', (name, values, others, rule) => {
  const read = (text: string) => {
    const issues: Issue[] = [];
    return [readTexts(new Map([[name, [text]]]), [filterParameter(Visit, name, 'Those.')], issues), issues];
  };
  for (const [text, value] of Object.entries(values)) expect(read(text)).toEqual([{ [name]: value }, []]);
  for (const text of others) expect(read(text)).toEqual([{}, [{ path: name, message: `must be ${rule}` }]]);
});
