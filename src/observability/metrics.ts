import { collectDefaultMetrics, type Metric as RegisteredMetric, Registry } from 'prom-client';
import { VERSION } from '../config.ts';
import type { Metric } from '../feature.ts';
import { lruCache } from '../foundation/cache.ts';
import { ERRORS, isRefusal } from '../foundation/errors.ts';
import type { RequestContext } from '../http/request-context.ts';
import { PLAN_NAMES } from '../store/api-keys.ts';

/** Histogram bounds of request durations, in seconds. */
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CALL_BOUNDS = [0.00001, 0.0001, ...REQUEST_BOUNDS];
const MAX_BANNED_KEYS = 10_000;
/** The most texts made in a second: each takes two milliseconds, and anyone may ask. */
const MAX_TEXTS = 20;

/**
 * Prometheus metrics of one process. Labels come from bounded sets: routes, transports, statuses, outcomes,
 * plans, store calls, and keys that use deprecated operations.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = this.#tally(
    'petstore_requests_total',
    ['transport', 'operation', 'status'],
    'Requests by transport, operation and status',
  );
  readonly #seconds = this.#timing(
    'petstore_request_seconds',
    ['transport', 'operation'],
    'Time from the first line of a request to its response, by transport and operation',
    REQUEST_BOUNDS,
  );
  readonly #errors = this.#tally(
    'petstore_errors_total',
    ['transport', 'code'],
    'Responses that contain an error with this code, also in a field of a GraphQL response',
  );
  readonly #decisions = this.#tally(
    'petstore_limiter_decisions_total',
    ['outcome', 'plan'],
    'Decisions of the rate limiter by outcome and plan',
  );
  readonly #bans = this.#tally(
    'petstore_bans_total',
    ['plan'],
    'Bans of API keys that began with a request to this process',
  );
  readonly #storeSeconds = this.#timing(
    'petstore_store_call_seconds',
    ['engine', 'call', 'outcome'],
    'Duration of store calls by how they ended: done, refused for a reason the client is told, or failed',
    CALL_BOUNDS,
  );
  readonly #deprecated = this.#tally(
    'petstore_deprecated_requests_total',
    ['operation', 'api_key'],
    'Requests to deprecated operations by API key id',
  );
  readonly #untrusted = this.#tally(
    'petstore_untrusted_documents_total',
    ['api_key'],
    'Documents outside of the list of an API key that only reports them, by API key id',
  );
  #latest: { second: number; made: number; text: Promise<string> } | undefined;
  /** The time at which the latest ban of each key began. */
  readonly #banned = lruCache<number>(MAX_BANNED_KEYS);

  /** @param sources `linesDropped`: log lines dropped so far */
  constructor({ linesDropped = () => 0 }: { linesDropped?: () => number } = {}) {
    const build = 'The version of the gateway and of Node.js; always 1';
    const labels = { version: VERSION, node: process.versions.node };
    this.#show('gauge', 'petstore_build_info', build, () => [{ labels, value: 1 }]);
    // Series start at 0, so that the first increase counts as one: rate() doesn't see a series that starts at 1.
    for (const plan of PLAN_NAMES) {
      this.#bans([plan], 0);
      for (const outcome of ['passed', 'refused', 'banned']) this.#decisions([outcome, plan], 0);
    }
    for (const transport of ['rest', 'graphql', 'mcp', 'page'])
      for (const code of Object.keys(ERRORS)) this.#errors([transport, code], 0);
    const dropped = 'Log lines that were dropped because they could not be written';
    this.#showOne('counter', 'petstore_log_lines_dropped_total', dropped, linesDropped);
  }

  /** Adds the usual metrics of a process. The client's own observer of garbage collection can't be stopped. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Adds a metric whose values are read when it is scraped. */
  show({ type, name, help, values }: Metric): void {
    const get = async () => ({ name, help, type, values: values() });
    // A registry needs no more of a metric.
    this.registry.registerMetric({ name, get } as unknown as RegisteredMetric);
  }

  #show(type: Metric['type'], name: string, help: string, values: Metric['values']): void {
    this.show({ type, name, help, values });
  }

  #showOne(type: Metric['type'], name: string, help: string, value: () => number): void {
    this.#show(type, name, help, () => [{ labels: {}, value: value() }]);
  }

  /**
   * Adds a counter on the path of every request. prom-client's own checks and joins labels each time, which takes a
   * microsecond.
   *
   * @returns the function that counts, by label values without spaces
   */
  #tally(name: string, labelNames: string[], help: string) {
    const counts = new Map<string, number>();
    this.#show('counter', name, help, () =>
      [...counts].map(([key, value]) => ({ labels: labelsOf(labelNames, key), value })),
    );
    return (values: readonly (string | number)[], by = 1): void => {
      const key = values.join(' ');
      counts.set(key, (counts.get(key) ?? 0) + by);
    };
  }

  /** Adds a histogram in the same way. @returns functions that count and begin a series at 0, by label values without spaces */
  #timing(name: string, labelNames: string[], help: string, bounds: readonly number[]) {
    const series = new Map<string, { counts: number[]; sum: number }>();
    this.#show('histogram', name, help, () =>
      [...series].flatMap(([key, { counts, sum }]) => {
        const labels = labelsOf(labelNames, key);
        let count = 0;
        const buckets = [...bounds, '+Inf'].map((le, n) => {
          count += counts[n]!;
          return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count };
        });
        return [
          ...buckets,
          { metricName: `${name}_sum`, labels, value: sum },
          { metricName: `${name}_count`, labels, value: count },
        ];
      }),
    );
    const seriesOf = (values: readonly string[]) => {
      const key = values.join(' ');
      const known = series.get(key) ?? { counts: Array(bounds.length + 1).fill(0), sum: 0 };
      series.set(key, known);
      return known;
    };
    const observe = (values: readonly string[], seconds: number): void => {
      const known = seriesOf(values);
      let n = 0;
      while (seconds > bounds[n]!) n++;
      known.counts[n]!++;
      known.sum += seconds;
    };
    return Object.assign(observe, { begin: seriesOf });
  }

  observe(context: RequestContext, milliseconds: number): void {
    const { transport, status, session } = context;
    const { decision, principal } = session ?? {};
    const { name } = transport!;
    // Not the client's name for it: as labels, those could exhaust memory.
    const operation = context.operation ?? 'unknown';
    this.#requests([name, operation, status]);
    this.#seconds([name, operation], milliseconds / 1000);
    for (const code of context.errorCodes) this.#errors([name, code]);
    if (decision && principal) {
      this.#decisions([decision.outcome, principal.plan]);
      // Concurrent requests may see the same new ban, which counts once.
      if (decision.banBegan !== undefined && this.#banned.get(principal.id) !== decision.banBegan) {
        this.#banned.set(principal.id, decision.banBegan);
        this.#bans([principal.plan]);
      }
    }
    if (context.deprecation && principal) this.#deprecated([operation, principal.id]);
  }

  /** Counts a document outside the list of a key that only reports such documents. */
  untrustedDocument(apiKeyId: string): void {
    this.#untrusted([apiKeyId]);
  }

  /** Shows the state of the event streams. @param streams `lag` in milliseconds */
  watchStreams(streams: { size: number; sent: number; feed: { lag: number } }): void {
    this.#showOne('gauge', 'petstore_event_streams', 'Open event streams', () => streams.size);
    const sent = 'Events sent over event streams';
    this.#showOne('counter', 'petstore_events_sent_total', sent, () => streams.sent);
    const lag =
      'How far stream readers may be behind the latest commit: the age of the last response of the change stream';
    this.#showOne('gauge', 'petstore_event_lag_seconds', lag, () => streams.feed.lag / 1000);
  }

  /** @returns a function that records the end of a call, by its start and its error if it failed */
  storeCall(engine: string, call: string): (began: number, error?: unknown) => void {
    this.#storeSeconds.begin([engine, call, 'failed']);
    return (began, error) => {
      const outcome = error === undefined ? 'done' : isRefusal(error) ? 'refused' : 'failed';
      this.#storeSeconds([engine, call, outcome], (performance.now() - began) / 1000);
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The metrics in Prometheus text format. Requests beyond {@link MAX_TEXTS} per second get the latest one. */
  text(): Promise<string> {
    const second = Math.floor(performance.now() / 1_000);
    const made = this.#latest?.second === second ? this.#latest.made : 0;
    if (made < MAX_TEXTS || !this.#latest)
      this.#latest = { second, made: made + 1, text: this.registry.metrics() };
    return this.#latest.text;
  }
}

const labelsOf = (names: readonly string[], key: string): Record<string, string> => {
  const values = key.split(' ');
  return Object.fromEntries(names.map((name, n) => [name, values[n]!]));
};
