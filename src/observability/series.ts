import type { Registry } from 'prom-client';

/** One value of a metric in prom-client's format. */
interface Value {
  labels: Record<string, string | number>;
  metricName?: string;
  value: number;
}

interface Description<Labels extends readonly string[]> {
  name: string;
  help: string;
  labelNames: Labels;
  registry: Registry;
}

/** The series, or the next level, by the values of one label. */
type Level<Series> = Map<string, Series | Level<Series>>;

/**
 * A metric that hands out its series, so that counting is a plain addition. prom-client's own metrics look up
 * the labels for every value: measured with three labels and 40 series, a count takes 0.29 µs where this takes
 * 0.03, and an observation 0.48 where this takes 0.04, several times a request. Everything else is its work.
 */
abstract class Family<Labels extends readonly string[], Series> {
  readonly name: string;
  readonly help: string;
  abstract readonly type: 'counter' | 'histogram';
  /** How prom-client aggregates workers. */
  readonly aggregator = 'sum';
  readonly #labelNames: Labels;
  /** By the value of each label in turn. */
  readonly #first: Level<Series> = new Map();
  readonly #series: { labels: Record<string, string>; series: Series }[] = [];

  constructor({ name, help, labelNames, registry }: Description<Labels>) {
    this.name = name;
    this.help = help;
    this.#labelNames = labelNames;
    registry.registerMetric(this as never);
  }

  protected abstract newSeries(): Series;
  protected abstract valuesOf(series: Series, labels: Record<string, string>): Value[];

  /** The series for these label values, given in the order of the label names. */
  of(...values: { [K in keyof Labels]: string }): Series {
    // Level by level, since joining the values into one key would hash a new text for each.
    const last = values.length - 1;
    let level = this.#first;
    for (let i = 0; i < last; i++) {
      let next = level.get(values[i]!) as Level<Series> | undefined;
      if (!next) {
        next = new Map();
        level.set(values[i]!, next);
      }
      level = next;
    }
    let series = level.get(values[last]!) as Series | undefined;
    if (series === undefined) {
      series = this.newSeries();
      level.set(values[last]!, series);
      const labels = Object.fromEntries(this.#labelNames.map((name, i) => [name, values[i]!]));
      this.#series.push({ labels, series });
    }
    return series;
  }

  /** Called by the registry. */
  async get() {
    const { name, help, type, aggregator } = this;
    const values = this.#series.flatMap(({ labels, series }) => this.valuesOf(series, labels));
    return { name, help, type, aggregator, values };
  }
}

/** A counter. */
export class Counter<const Labels extends readonly string[]> extends Family<Labels, { count: number }> {
  readonly type = 'counter';

  protected newSeries() {
    return { count: 0 };
  }

  protected valuesOf({ count }: { count: number }, labels: Record<string, string>): Value[] {
    return [{ labels, value: count }];
  }
}

/** One series of a histogram, in seconds. */
export class HistogramSeries {
  readonly #bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  observe(seconds: number): void {
    let i = 0;
    while (i < this.#bounds.length && seconds > this.#bounds[i]!) i++;
    this.counts[i]!++;
    this.sum += seconds;
  }
}

/** A histogram with bucket upper bounds in seconds. */
export class Histogram<const Labels extends readonly string[]> extends Family<Labels, HistogramSeries> {
  readonly type = 'histogram';
  readonly #bounds: readonly number[];

  constructor(description: Description<Labels> & { bounds: readonly number[] }) {
    super(description);
    this.#bounds = description.bounds;
  }

  protected newSeries(): HistogramSeries {
    return new HistogramSeries(this.#bounds);
  }

  protected valuesOf({ counts, sum }: HistogramSeries, labels: Record<string, string>): Value[] {
    let count = 0;
    const buckets = counts.map((inBucket, i) => {
      count += inBucket;
      return {
        metricName: `${this.name}_bucket`,
        labels: { le: this.#bounds[i] ?? '+Inf', ...labels },
        value: count,
      };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
