import { counted, number } from '../words.ts';
import { call, fill } from './api.ts';
import { chart } from './charts.ts';
import { button, controls, h, note } from './dom.ts';

/** One day of `GET /usage`. */
interface UsageDay {
  date: string;
  requests: number;
  units: number;
  refused: number;
}

/** One operation of `GET /usage/{date}`. */
interface UsageOperation {
  operation: string;
  transport: string;
  requests: number;
  units: number;
  refused: number;
}

const DAYS = [7, 30, 92] as const;
const DAY = 86_400_000;
const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10);
const refusals = (count: number): string => (count > 0 ? `, ${number(count)} refused` : '');

/** Shows units by day, and by operation on a chosen day. Each view costs one unit, so it is loaded on demand. */
export function showUsage(root: HTMLElement): void {
  const place = h('div');
  const operations = h('div', { 'aria-live': 'polite' });
  const days = h(
    'select',
    { 'aria-label': 'Period', onchange: () => void load() },
    ...DAYS.map((count) => h('option', { value: count }, `${count} days`)),
  );
  root.replaceChildren(
    controls(
      days,
      button('Refresh', () => load()),
    ),
    place,
    operations,
  );

  const load = () =>
    fill(place, 'Usage is not shown.', async () => {
      operations.replaceChildren();
      const today = Date.now();
      const dates = Array.from({ length: Number(days.value) }, (_, ago) => dateOf(today - ago * DAY));
      const used = await call<UsageDay[]>('GET', `/usage?from=${dates.at(-1)}&to=${dates[0]}`);
      const byDate = new Map(used.map((day) => [day.date, day]));
      const latest = used.at(-1);
      if (latest) void loadDay(latest.date);
      else operations.replaceChildren(note('Nothing was used in these days.'));
      return [
        chart(
          'columns',
          'Units by day (UTC)',
          dates.map((date) => barOf(date, byDate.get(date))),
        ),
      ];
    });

  const barOf = (date: string, { units = 0, refused = 0 }: Partial<UsageDay> = {}) => ({
    label: date.slice(5),
    value: units,
    second: refused,
    detail: number(units),
    select: {
      name: `${date}: ${counted(units, 'unit')}${refusals(refused)}`,
      onclick: () => void loadDay(date),
    },
  });

  const loadDay = (date: string) =>
    fill(operations, '', async () => {
      const used = await call<UsageOperation[]>('GET', `/usage/${date}`);
      const bars = used.map(({ operation, transport, requests, units, refused }) => ({
        label: `${operation} (${transport})`,
        value: units,
        second: refused,
        detail: `${counted(units, 'unit')}, ${counted(requests, 'request')}${refusals(refused)}`,
      }));
      return [
        bars.length > 0
          ? chart('rows', `By operation on ${date}`, bars)
          : note(`Nothing was used on ${date}.`),
      ];
    });

  void load();
}
