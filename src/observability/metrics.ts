import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';
import { VERSION } from '../config.ts';
import type { Metric } from '../domains/feature.ts';
import { lruCache } from '../foundation/cache.ts';
import { ERRORS, isRefusal } from '../foundation/errors.ts';
import type { RequestContext } from '../http/request-context.ts';
import { PLAN_NAMES } from '../store/stored-api-keys.ts';

/** The histogram bounds of request durations, in seconds. */
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CALL_BOUNDS = [0.00001, 0.0001, ...REQUEST_BOUNDS];
const MAX_BANNED_KEYS = 10_000;
/** The maximum number of texts created per second: each takes 2 ms, and anyone may request it. */
const MAX_TEXTS = 20;

type Labels = Readonly<Record<string, string>>;

/** Adds a duration in seconds to a series of a histogram. */
type Add = (seconds: number) => void;

/**
 * A histogram of durations. Users keep the series they add to, because prom-client's own histogram looks it up by
 * labels for each value, which for five values takes an eighth of a request.
 */
class Durations {
  readonly name: string;
  readonly #help: string;
  /** Ends with infinity, so that each duration has a bucket. */
  readonly #bounds: Float64Array;
  /** The sum and bucket counts of each series. */
  readonly #series: { labels: Labels; sum: number; counts: Float64Array }[] = [];

  /** @param bounds the upper bounds of buckets, in seconds, ascending */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.#help = help;
    this.#bounds = Float64Array.of(...bounds, Number.POSITIVE_INFINITY);
  }

  /** Adds a series. */
  series(labels: Labels): Add {
    const bounds = this.#bounds;
    const series = { labels, sum: 0, counts: new Float64Array(bounds.length) };
    this.#series.push(series);
    return (seconds) => {
      let bucket = 0;
      while (seconds > bounds[bucket]!) bucket++;
      series.counts[bucket]!++;
      series.sum += seconds;
    };
  }

  /** The metric in the form that the registry expects. */
  async get() {
    const values = this.#series.flatMap(({ labels, sum, counts }) => {
      let count = 0;
      const buckets = Array.from(counts, (added, bucket) => {
        const le = String(this.#bounds[bucket]).replace('Infinity', '+Inf');
        return { metricName: `${this.name}_bucket`, labels: { le, ...labels }, value: (count += added) };
      });
      const total = { metricName: `${this.name}_sum`, labels, value: sum };
      return [...buckets, total, { metricName: `${this.name}_count`, labels, value: count }];
    });
    return { name: this.name, help: this.#help, type: 'histogram', values };
  }
}

/**
 * The Prometheus metrics of one process. Labels have bounded sets of values: routes, transports, statuses, outcomes,
 * plans, store calls, and keys that use deprecated operations.
 */
export class Metrics {
  readonly registry = new Registry();
  /** The durations of requests, and their number by status; by transport and operation. */
  readonly #requests = new Map<string, Map<string, { add: Add; byStatus: Map<number, number> }>>();
  readonly #seconds = this.#durations(
    'petstore_request_seconds',
    'Time from the first line of a request to its response, by transport and operation',
    REQUEST_BOUNDS,
  );
  readonly #errors = this.#counter(
    'petstore_errors_total',
    ['transport', 'code'],
    'Responses that contain an error with this code, also in a field of a GraphQL response',
  );
  // Series start at 0, since rate() misses the first increase of a series that starts at 1.
  readonly #decisions = new Map(PLAN_NAMES.map((plan) => [plan, { passed: 0, refused: 0, banned: 0 }]));
  readonly #bans = this.#counter(
    'petstore_bans_total',
    ['plan'],
    'Bans of API keys that began with a request to this process',
  );
  readonly #storeSeconds = this.#durations(
    'petstore_store_call_seconds',
    'Duration of store calls by how they ended: done, refused for a reason the client is told, or failed',
    CALL_BOUNDS,
  );
  readonly #deprecated = this.#counter(
    'petstore_deprecated_requests_total',
    ['operation', 'api_key'],
    'Requests to deprecated operations by API key id',
  );
  readonly #untrusted = this.#counter(
    'petstore_untrusted_documents_total',
    ['api_key'],
    'Documents outside of the list of an API key that only reports them, by API key id',
  );
  #latest: { second: number; made: number; text: Promise<string> } | undefined;
  /** The start of each key's latest ban. */
  readonly #banned = lruCache<number>(MAX_BANNED_KEYS);

  /** @param sources `linesDropped`: the number of dropped log lines */
  constructor({ linesDropped = () => 0 }: { linesDropped?: () => number } = {}) {
    const build = { version: VERSION, node: process.versions.node };
    this.#gauge('petstore_build_info', 'The version of the gateway and of Node.js; always 1', () => 1, build);
    for (const plan of PLAN_NAMES) this.#bans.inc({ plan }, 0);
    for (const transport of ['rest', 'graphql', 'mcp', 'page'])
      for (const code of Object.keys(ERRORS)) this.#errors.inc({ transport, code }, 0);
    this.show({
      type: 'counter',
      name: 'petstore_requests_total',
      help: 'Requests by transport, operation and status',
      labelNames: ['transport', 'operation', 'status'],
      values: () =>
        [...this.#requests].flatMap(([transport, operations]) =>
          [...operations].flatMap(([operation, { byStatus }]) =>
            [...byStatus].map(([status, value]) => ({
              labels: { transport, operation, status: String(status) },
              value,
            })),
          ),
        ),
    });
    this.show({
      type: 'counter',
      name: 'petstore_limiter_decisions_total',
      help: 'Decisions of the rate limiter by outcome and plan',
      labelNames: ['outcome', 'plan'],
      values: () =>
        [...this.#decisions].flatMap(([plan, counts]) =>
          Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome, plan }, value })),
        ),
    });
    this.show({
      type: 'counter',
      name: 'petstore_log_lines_dropped_total',
      help: 'Log lines that were dropped because they could not be written',
      values: () => [{ value: linesDropped() }],
    });
  }

  /** Adds the default metrics of a process, once: prom-client's observer of garbage collection can't be stopped. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Adds a metric that is read when scraped. */
  show({ type, name, help, labelNames = [], values }: Metric): void {
    const Kind = type === 'counter' ? Counter : Gauge;
    new Kind({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const { labels = {}, value } of values()) this.inc(labels, value);
      },
    });
  }

  #gauge(name: string, help: string, value: () => number, labels: Record<string, string> = {}): void {
    const values = () => [{ labels, value: value() }];
    this.show({ type: 'gauge', name, help, labelNames: Object.keys(labels), values });
  }

  #counter<Label extends string>(name: string, labelNames: readonly Label[], help: string): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  #durations(name: string, help: string, bounds: readonly number[]): Durations {
    const durations = new Durations(name, help, bounds);
    // The registry uses only the name and `get` of a metric.
    this.registry.registerMetric(durations as never);
    return durations;
  }

  #requestsTo(transport: string, operation: string) {
    let operations = this.#requests.get(transport);
    if (!operations) this.#requests.set(transport, (operations = new Map()));
    let requests = operations.get(operation);
    if (!requests) {
      requests = { add: this.#seconds.series({ transport, operation }), byStatus: new Map() };
      operations.set(operation, requests);
    }
    return requests;
  }

  /** Adds a request that has its response. */
  observe(context: RequestContext): void {
    const { transport, status, session } = context;
    const { decision, principal } = session ?? {};
    const { name } = transport!;
    // Not the client's name for the operation, which as a label could exhaust memory.
    const operation = context.operation ?? 'unknown';
    const { add, byStatus } = this.#requestsTo(name, operation);
    add(context.milliseconds / 1000);
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    for (const code of context.errorCodes) this.#errors.inc({ transport: name, code });
    if (decision && principal) {
      const counts = this.#decisions.get(principal.plan)!;
      // Nearly all pass, and a property by its name takes an eighth of the time.
      if (decision.verdict === 'passed') counts.passed++;
      else counts[decision.verdict]++;
      // Concurrent requests may see the same new ban, which is counted once.
      if (decision.banBegan !== undefined && this.#banned.get(principal.id) !== decision.banBegan) {
        this.#banned.set(principal.id, decision.banBegan);
        this.#bans.inc({ plan: principal.plan });
      }
    }
    if (context.deprecation && principal) this.#deprecated.inc({ operation, api_key: principal.id });
  }

  /** Counts a document that a key runs outside its list, if the key only reports that. */
  untrustedDocument(apiKeyId: string): void {
    this.#untrusted.inc({ api_key: apiKeyId });
  }

  /** Adds metrics of the event streams. @param streams `lag` in milliseconds */
  watchStreams(streams: { size: number; sent: number; feed: { lag: number } }): void {
    this.#gauge('petstore_event_streams', 'Open event streams', () => streams.size);
    this.show({
      type: 'counter',
      name: 'petstore_events_sent_total',
      help: 'Events sent over event streams',
      values: () => [{ value: streams.sent }],
    });
    const lag =
      'How far stream readers may be behind the latest commit: the age of the last response of the change stream';
    this.#gauge('petstore_event_lag_seconds', lag, () => streams.feed.lag / 1000);
  }

  /** @returns a function to record the end of a call, with its start and its error, if any */
  storeCall(engine: string, call: string): (began: number, error?: unknown) => void {
    const series = (outcome: string) => this.#storeSeconds.series({ engine, call, outcome });
    const failed = series('failed');
    let done: Add | undefined;
    let refused: Add | undefined;
    return (began, error) => {
      let add = failed;
      if (error === undefined) add = done ??= series('done');
      else if (isRefusal(error)) add = refused ??= series('refused');
      add((performance.now() - began) / 1000);
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
