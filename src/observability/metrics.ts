import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '../config.ts';
import type { Metric } from '../domains/feature.ts';
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
  readonly #requests = this.#counter(
    'petstore_requests_total',
    ['transport', 'operation', 'status'],
    'Requests by transport, operation and status',
  );
  readonly #seconds = this.#histogram(
    'petstore_request_seconds',
    ['transport', 'operation'],
    'Time from the first line of a request to its response, by transport and operation',
    REQUEST_BOUNDS,
  );
  readonly #errors = this.#counter(
    'petstore_errors_total',
    ['transport', 'code'],
    'Responses that contain an error with this code, also in a field of a GraphQL response',
  );
  readonly #decisions = this.#counter(
    'petstore_limiter_decisions_total',
    ['outcome', 'plan'],
    'Decisions of the rate limiter by outcome and plan',
  );
  readonly #bans = this.#counter(
    'petstore_bans_total',
    ['plan'],
    'Bans of API keys that began with a request to this process',
  );
  readonly #storeSeconds = this.#histogram(
    'petstore_store_call_seconds',
    ['engine', 'call', 'outcome'],
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
  /** The time at which the latest ban of each key began. */
  readonly #banned = lruCache<number>(MAX_BANNED_KEYS);

  /** @param sources `linesDropped`: log lines dropped so far */
  constructor({ linesDropped = () => 0 }: { linesDropped?: () => number } = {}) {
    const build = { version: VERSION, node: process.versions.node };
    this.#gauge('petstore_build_info', 'The version of the gateway and of Node.js; always 1', () => 1, build);
    // Series start at 0, so that the first increase counts as one: rate() doesn't see a series that starts at 1.
    for (const plan of PLAN_NAMES) {
      this.#bans.inc({ plan }, 0);
      for (const outcome of ['passed', 'refused', 'banned']) this.#decisions.inc({ outcome, plan }, 0);
    }
    for (const transport of ['rest', 'graphql', 'mcp', 'page'])
      for (const code of Object.keys(ERRORS)) this.#errors.inc({ transport, code }, 0);
    this.show({
      type: 'counter',
      name: 'petstore_log_lines_dropped_total',
      help: 'Log lines that were dropped because they could not be written',
      values: () => [{ value: linesDropped() }],
    });
  }

  /** Adds the usual metrics of a process. The client's own observer of garbage collection can't be stopped. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Adds a metric whose values are read when it is scraped. */
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

  #histogram<Label extends string>(
    name: string,
    labelNames: readonly Label[],
    help: string,
    buckets: number[],
  ): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets, registers: [this.registry] });
  }

  observe(context: RequestContext, milliseconds: number): void {
    const { transport, status, session } = context;
    const { decision, principal } = session ?? {};
    const { name } = transport!;
    // Not the client's name for it: as labels, those could exhaust memory.
    const operation = context.operation ?? 'unknown';
    this.#requests.inc({ transport: name, operation, status });
    this.#seconds.observe({ transport: name, operation }, milliseconds / 1000);
    for (const code of context.errorCodes) this.#errors.inc({ transport: name, code });
    if (decision && principal) {
      this.#decisions.inc({ outcome: decision.outcome, plan: principal.plan });
      // Concurrent requests may see the same new ban, which counts once.
      if (decision.banBegan !== undefined && this.#banned.get(principal.id) !== decision.banBegan) {
        this.#banned.set(principal.id, decision.banBegan);
        this.#bans.inc({ plan: principal.plan });
      }
    }
    if (context.deprecation && principal) this.#deprecated.inc({ operation, api_key: principal.id });
  }

  /** Counts a document outside the list of a key that only reports such documents. */
  untrustedDocument(apiKeyId: string): void {
    this.#untrusted.inc({ api_key: apiKeyId });
  }

  /** Shows the state of the event streams. @param streams `lag` in milliseconds */
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

  /** @returns a function that records the end of a call, by its start and its error if it failed */
  storeCall(engine: string, call: string): (began: number, error?: unknown) => void {
    this.#storeSeconds.zero({ engine, call, outcome: 'failed' });
    return (began, error) => {
      const outcome = error === undefined ? 'done' : isRefusal(error) ? 'refused' : 'failed';
      this.#storeSeconds.observe({ engine, call, outcome }, (performance.now() - began) / 1000);
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
