import { LRUCache } from 'lru-cache';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import type { Exchange } from '../http/exchange.ts';

/** How a call of the store ended: done, refused for a reason that the client is told, or failed. */
export type CallOutcome = 'done' | 'refused' | 'failed';

const MOST_BANNED_KEYS = 10_000;

/**
 * Prometheus metrics of one process. Labels come from closed sets: routes, doors, statuses, outcomes, plans, calls of
 * the store, and keys that use what is deprecated.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = new Counter({
    name: 'petstore_requests_total',
    help: 'Requests by door, operation and status',
    labelNames: ['door', 'operation', 'status'],
    registers: [this.registry],
  });
  readonly #seconds = new Histogram({
    name: 'petstore_request_seconds',
    help: 'Time from the first line of a request to its answer',
    labelNames: ['door'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });
  readonly #verdicts = new Counter({
    name: 'petstore_limiter_verdicts_total',
    help: 'Verdicts of the limiter by plan',
    labelNames: ['outcome', 'plan'],
    registers: [this.registry],
  });
  readonly #bans = new Counter({
    name: 'petstore_bans_total',
    help: 'Bans of API keys that a request to this process began',
    labelNames: ['plan'],
    registers: [this.registry],
  });
  readonly #storeSeconds = new Histogram({
    name: 'petstore_store_call_seconds',
    help: 'Time that calls of the store took; most of them are one command to the database',
    labelNames: ['engine', 'call', 'outcome'],
    buckets: [0.00001, 0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [this.registry],
  });
  readonly #deprecated = new Counter({
    name: 'petstore_deprecated_requests_total',
    help: 'Use of deprecated operations by API key id',
    labelNames: ['operation', 'api_key'],
    registers: [this.registry],
  });

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Looking a counter up by its labels costs more than counting. */
  readonly #counters = new Map<string, Counter.Internal>();
  readonly #histograms = {
    rest: this.#seconds.labels('rest'),
    graphql: this.#seconds.labels('graphql'),
    page: this.#seconds.labels('page'),
  };

  readonly #banned = new LRUCache<string, number>({ max: MOST_BANNED_KEYS });

  observe(exchange: Exchange, milliseconds: number): void {
    const { door, status, verdict, principal } = exchange;
    // The names of GraphQL operations are chosen by clients: as labels they could fill the memory.
    const operation = door === 'graphql' ? door : (exchange.operation ?? 'unknown');
    const key = `${door} ${operation} ${status}`;
    let counter = this.#counters.get(key);
    if (!counter) {
      counter = this.#requests.labels(door, operation, String(status));
      this.#counters.set(key, counter);
    }
    counter.inc();
    this.#histograms[door].observe(milliseconds / 1000);
    if (verdict && principal) {
      this.#verdicts.inc({ outcome: verdict.outcome, plan: principal.plan });
      // Of the requests of one moment that meet a new ban only one began it.
      if (verdict.banBegan !== undefined && this.#banned.get(principal.id) !== verdict.banBegan) {
        this.#banned.set(principal.id, verdict.banBegan);
        this.#bans.inc({ plan: principal.plan });
      }
    }
    if (exchange.deprecated && principal) this.#deprecated.inc({ operation, api_key: principal.id });
  }

  /** @returns what takes down one such call: how long it took, in milliseconds, and how it ended */
  storeCall(engine: string, call: string): (milliseconds: number, outcome: CallOutcome) => void {
    const histograms: Partial<Record<CallOutcome, Histogram.Internal<string>>> = {};
    return (milliseconds, outcome) => {
      histograms[outcome] ??= this.#storeSeconds.labels(engine, call, outcome);
      histograms[outcome].observe(milliseconds / 1000);
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The text that Prometheus scrapes. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
