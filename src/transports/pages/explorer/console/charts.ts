import { type Content, h, svg, table } from './dom.ts';

/** A bar of a chart. */
export interface Bar {
  label: string;
  value: number;
  /** Drawn on top of the bar in another colour. */
  second?: number;
}

const HEIGHT = 160;
const WIDTH = 640;
const number = (value: number): string => value.toLocaleString('en');

/**
 * A chart of columns with the same numbers as a table, for those who do not see the chart.
 *
 * @param names of the value and the second value
 * @param onSelect called with the index of the column that was chosen
 */
export function columns(
  caption: string,
  names: readonly [value: string, second: string],
  bars: readonly Bar[],
  onSelect: (index: number) => void,
): HTMLElement {
  const highest = Math.max(1, ...bars.map(({ value, second = 0 }) => value + second));
  const step = WIDTH / Math.max(7, bars.length);
  // Labels need space: with many days only some have one, counted from the latest.
  const every = Math.ceil(44 / step);
  const isLabelled = (index: number) => (bars.length - 1 - index) % every === 0;
  const height = (value: number) => (value / highest) * (HEIGHT - 24);
  const chart = svg(
    'svg',
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT + 24}`,
      role: 'img',
      'aria-label': `${caption}; the table has the numbers.`,
    },
    svg('line', { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: 'axis' }),
    ...bars.flatMap(({ label, value, second = 0 }, index) => {
      const x = index * step + step * 0.15;
      const width = step * 0.7;
      const top = HEIGHT - height(value);
      return [
        svg('rect', { x, y: top, width, height: height(value), rx: 3, class: 'bar' }),
        second > 0 &&
          svg('rect', {
            x,
            y: top - height(second),
            width,
            height: height(second),
            rx: 3,
            class: 'bar second',
          }),
        isLabelled(index) &&
          svg('text', { x: x + width / 2, y: top - height(second) - 6, class: 'value' }, number(value)),
        isLabelled(index) && svg('text', { x: x + width / 2, y: HEIGHT + 17 }, label.slice(5)),
        svg(
          'rect',
          {
            x: index * step,
            y: 0,
            width: step,
            height: HEIGHT,
            class: 'target',
            onclick: () => onSelect(index),
          },
          svg('title', {}, `${label}: ${number(value)} ${names[0]}, ${number(second)} ${names[1]}`),
        ),
      ];
    }),
  );
  const rows = bars.map(({ label, value, second = 0 }, index): Content[] => [
    h('button', { type: 'button', class: 'link', onclick: () => onSelect(index) }, label),
    number(value),
    number(second),
  ]);
  return h('div', { class: 'chart' }, chart, table(caption, ['Day', ...names], rows));
}

/** A list of bars, each with its label and numbers as text. */
export function rows(caption: string, bars: readonly (Bar & { detail: string })[]): HTMLElement {
  const highest = Math.max(1, ...bars.map(({ value }) => value));
  return h(
    'div',
    { class: 'rows' },
    h('h3', {}, caption),
    h(
      'ul',
      {},
      ...bars.map(({ label, value, detail }) =>
        h(
          'li',
          {},
          h('span', { class: 'label' }, label),
          svg(
            'svg',
            { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
            svg('rect', { width: (value / highest) * 100, height: 10, class: 'bar' }),
          ),
          h('span', { class: 'detail' }, detail),
        ),
      ),
    ),
  );
}

/** A gauge that can be moved: how much of a window is left. */
export class Gauge {
  readonly element: HTMLElement;
  readonly #bar = svg('rect', { height: 10, class: 'bar' });
  readonly #text = h('span', { class: 'detail' });
  readonly #meter: SVGSVGElement;

  constructor(name: string) {
    this.#meter = svg(
      'svg',
      {
        viewBox: '0 0 100 10',
        preserveAspectRatio: 'none',
        role: 'meter',
        'aria-label': name,
        'aria-valuemin': 0,
      },
      svg('rect', { width: 100, height: 10, class: 'track' }),
      this.#bar,
    );
    this.element = h('div', { class: 'gauge' }, h('span', { class: 'label' }, name), this.#meter, this.#text);
  }

  set(remaining: number, limit: number, detail: string): void {
    const share = limit === 0 ? 0 : remaining / limit;
    this.#bar.setAttribute('width', String(share * 100));
    this.#bar.classList.toggle('low', share < 0.1);
    this.#meter.setAttribute('aria-valuemax', String(limit));
    this.#meter.setAttribute('aria-valuenow', String(remaining));
    this.#meter.setAttribute('aria-valuetext', `${number(remaining)} of ${number(limit)} left`);
    this.#text.textContent = `${number(remaining)} of ${number(limit)} left${detail}`;
  }
}
