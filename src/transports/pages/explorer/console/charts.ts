import { type Budget, windowAt } from '../server.ts';
import { duration, number } from '../words.ts';
import { h } from './dom.ts';

/** A bar of a chart, with its numbers as text. */
export interface Bar {
  label: string;
  value: number;
  /** Drawn after the bar in another colour. */
  second?: number;
  detail: string;
  /** What choosing it does, and how that is called. */
  select?: { name: string; onclick: () => void };
}

/** A chart whose bars are rows, or columns beside each other. */
export function chart(kind: 'rows' | 'columns', caption: string, bars: readonly Bar[]): HTMLElement {
  const highest = Math.max(1, ...bars.map(({ value, second = 0 }) => value + second));
  const items = bars.map(({ label, value, second = 0, detail, select }) =>
    h(
      'li',
      {},
      select
        ? h(
            'button',
            {
              type: 'button',
              class: 'link',
              title: select.name,
              'aria-label': select.name,
              onclick: select.onclick,
            },
            label,
          )
        : h('span', { class: 'label' }, label),
      h('div', { class: 'track' }, part('bar', value / highest), part('bar second', second / highest)),
      h('span', { class: 'detail' }, detail),
    ),
  );
  return h('div', { class: kind }, h('h3', {}, caption), h('ul', {}, ...items));
}

/** Part of a bar. @param share of the longest one */
function part(kind: string, share: number): HTMLElement {
  const made = h('div', { class: kind });
  made.style.setProperty('--share', String(share));
  return made;
}

/** A gauge that can be moved: how much of a window is left. */
class Gauge {
  readonly element: HTMLElement;
  readonly #bar = part('bar', 0);
  readonly #text = h('span', { class: 'detail' });
  readonly #meter: HTMLElement;

  constructor(name: string) {
    this.#meter = h(
      'div',
      { class: 'track', role: 'meter', 'aria-label': name, 'aria-valuemin': 0 },
      this.#bar,
    );
    this.element = h('div', { class: 'gauge' }, h('span', { class: 'label' }, name), this.#text, this.#meter);
  }

  set(remaining: number, limit: number, detail: string): void {
    const share = limit === 0 ? 0 : remaining / limit;
    const text = `${number(remaining)} of ${number(limit)} left`;
    this.#bar.style.setProperty('--share', String(share));
    this.#bar.classList.toggle('low', share < 0.1);
    this.#meter.setAttribute('aria-valuemax', String(limit));
    this.#meter.setAttribute('aria-valuenow', String(remaining));
    this.#meter.setAttribute('aria-valuetext', text);
    this.#text.textContent = text + detail;
  }
}

/** The gauges of both windows of a budget. */
export class BudgetGauges {
  readonly #gauges = { minute: new Gauge('This minute'), day: new Gauge('Today') };
  readonly elements = Object.values(this.#gauges).map(({ element }) => element);

  set(budget: Budget): void {
    const now = Date.now();
    for (const name of ['minute', 'day'] as const) {
      const { remaining, limit, resetAt } = windowAt(budget[name], now);
      const isUsed = resetAt > now && remaining < limit;
      this.#gauges[name].set(remaining, limit, isUsed ? `, full again in ${duration(resetAt - now)}` : '');
    }
  }
}
