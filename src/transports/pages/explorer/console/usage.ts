import { counted, number } from '../words.ts';
import { call, reason } from './api.ts';
import { chart } from './charts.ts';
import { h, note } from './dom.ts';

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
  const refresh = h('button', { type: 'button', onclick: () => void load() }, 'Refresh');
  root.replaceChildren(h('p', { class: 'controls' }, days, refresh), place, operations);

  async function load(): Promise<void> {
    operations.replaceChildren();
    try {
      const count = Number(days.value);
      const today = Date.now();
      const from = dateOf(today - (count - 1) * DAY);
      const used = await call<UsageDay[]>('GET', `/usage?from=${from}&to=${dateOf(today)}`);
      const byDate = new Map(used.map((day) => [day.date, day]));
      const all = Array.from({ length: count }, (_, index) => dateOf(today - (count - 1 - index) * DAY));
      place.replaceChildren(
        chart(
          'columns',
          'Units by day (UTC)',
          all.toReversed().map((date) => barOf(date, byDate.get(date))),
        ),
      );
      const latest = used.at(-1);
      if (latest) await loadDay(latest.date);
      else operations.replaceChildren(note('Nothing was used in these days.'));
    } catch (error) {
      place.replaceChildren(note(`Usage is not shown. ${reason(error)}`));
    }
  }

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

  async function loadDay(date: string): Promise<void> {
    try {
      const used = await call<UsageOperation[]>('GET', `/usage/${date}`);
      const bars = used.map(({ operation, transport, requests, units, refused }) => ({
        label: `${operation} (${transport})`,
        value: units,
        second: refused,
        detail: `${counted(units, 'unit')}, ${counted(requests, 'request')}${refusals(refused)}`,
      }));
      operations.replaceChildren(
        bars.length > 0
          ? chart('rows', `By operation on ${date}`, bars)
          : note(`Nothing was used on ${date}.`),
      );
    } catch (error) {
      operations.replaceChildren(note(reason(error)));
    }
  }

  void load();
}
