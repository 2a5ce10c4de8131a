import { call, reason } from './api.ts';
import { columns, rows } from './charts.ts';
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
const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

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
        columns(
          'Units by day (UTC)',
          ['units', 'refused'],
          all.map((date) => ({
            label: date,
            value: byDate.get(date)?.units ?? 0,
            second: byDate.get(date)?.refused ?? 0,
          })),
          (index) => void loadDay(all[index]!),
        ),
      );
      const latest = used.at(-1);
      if (latest) await loadDay(latest.date);
      else operations.replaceChildren(note('Nothing was used in these days.'));
    } catch (error) {
      place.replaceChildren(note(`Usage is not shown. ${reason(error)}`));
    }
  }

  async function loadDay(date: string): Promise<void> {
    try {
      const used = await call<UsageOperation[]>('GET', `/usage/${date}`);
      const bars = used.map(({ operation, transport, requests, units, refused }) => ({
        label: `${operation} (${transport})`,
        value: units,
        detail: `${counted(units, 'unit')}, ${counted(requests, 'request')}${refused > 0 ? `, ${refused.toLocaleString('en')} refused` : ''}`,
      }));
      operations.replaceChildren(
        bars.length > 0 ? rows(`By operation on ${date}`, bars) : note(`Nothing was used on ${date}.`),
      );
    } catch (error) {
      operations.replaceChildren(note(reason(error)));
    }
  }

  void load();
}
