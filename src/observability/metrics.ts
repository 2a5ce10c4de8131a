import { LRUCache } from 'lru-cache';
import { Counter as CollectedCounter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { RequestContext } from '../http/request-context.ts';
import { Counter, Histogram, type HistogramSeries } from './series.ts';

/** How a store call ended: successfully, refused for a reason the client is told, or with a failure. */
export type CallOutcome = 'done' | 'refused' | 'failed';

/** Statistics of the event streams. */
export interface StreamStats {
  readonly size: number;
  readonly sent: number;
  readonly cutOff: number;
  /** In milliseconds. */
  readonly lag: number;
}

/** In seconds. */
const REQUEST_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CALL_BOUNDS = [0.00001, 0.0001, ...REQUEST_BOUNDS];
const MAX_BANNED_KEYS = 10_000;

/**
 * Prometheus metrics of one process. Labels come from bounded sets: routes, transports, statuses, outcomes,
 * plans, store calls, and keys that use deprecated operations.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests = new Counter({
    name: 'petstore_requests_total',
    help: 'Requests by transport, operation and status',
    labelNames: ['transport', 'operation', 'status'],
    registry: this.registry,
  });
  readonly #seconds = new Histogram({
    name: 'petstore_request_seconds',
    help: 'Time from the first line of a request to its answer',
    labelNames: ['transport'],
    bounds: REQUEST_BOUNDS,
    registry: this.registry,
  });
  readonly #decisions = new Counter({
    name: 'petstore_limiter_decisions_total',
    help: 'Decisions of the limiter by plan',
    labelNames: ['outcome', 'plan'],
    registry: this.registry,
  });
  readonly #bans = new Counter({
    name: 'petstore_bans_total',
    help: 'Bans of API keys that a request to this process began',
    labelNames: ['plan'],
    registry: this.registry,
  });
  readonly #storeSeconds = new Histogram({
    name: 'petstore_store_call_seconds',
    help: 'Time that calls of the store took; most of them are one command to the database',
    labelNames: ['engine', 'call', 'outcome'],
    bounds: CALL_BOUNDS,
    registry: this.registry,
  });
  readonly #deprecated = new Counter({
    name: 'petstore_deprecated_requests_total',
    help: 'Use of deprecated operations by API key id',
    labelNames: ['operation', 'api_key'],
    registry: this.registry,
  });
  /** When the latest ban of each key began. */
  readonly #banned = new LRUCache<string, number>({ max: MAX_BANNED_KEYS });

  /** @param sources `linesDropped`: log lines dropped so far */
  constructor({ linesDropped = () => 0 }: { linesDropped?: () => number } = {}) {
    collectDefaultMetrics({ register: this.registry });
    new CollectedCounter({
      name: 'petstore_log_lines_dropped_total',
      help: 'Lines of the log that could not be written',
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(linesDropped());
      },
    });
  }

  observe(context: RequestContext, milliseconds: number): void {
    const { transport, status, decision, principal } = context;
    const { name } = transport!;
    // Not the name that the client gave it: as labels, those could exhaust memory.
    const operation = context.operation ?? 'unknown';
    this.#requests.of(name, operation, String(status)).count++;
    this.#seconds.of(name).observe(milliseconds / 1000);
    if (decision && principal) {
      this.#decisions.of(decision.outcome, principal.plan).count++;
      // Several concurrent requests may see a new ban, but only one began it.
      if (decision.banBegan !== undefined && this.#banned.get(principal.id) !== decision.banBegan) {
        this.#banned.set(principal.id, decision.banBegan);
        this.#bans.of(principal.plan).count++;
      }
    }
    if (context.deprecation && principal) this.#deprecated.of(operation, principal.id).count++;
  }

  /** Exposes the state of the event streams at scrape time. */
  watchStreams(streams: StreamStats): void {
    const registers = [this.registry];
    new Gauge({
      name: 'petstore_event_streams',
      help: 'Streams of events that are open',
      registers,
      collect() {
        this.set(streams.size);
      },
    });
    new CollectedCounter({
      name: 'petstore_events_sent_total',
      help: 'Events sent to the readers of streams',
      registers,
      collect() {
        this.reset();
        this.inc(streams.sent);
      },
    });
    new CollectedCounter({
      name: 'petstore_event_readers_cut_off_total',
      help: 'Readers of streams that were cut off because they fell behind',
      registers,
      collect() {
        this.reset();
        this.inc(streams.cutOff);
      },
    });
    new Gauge({
      name: 'petstore_event_lag_seconds',
      help: 'How far the readers of streams may be behind what is committed: the age of the last answer of the change stream',
      registers,
      aggregator: 'max',
      collect() {
        this.set(streams.lag / 1000);
      },
    });
  }

  /** @returns a function that records one call: its duration in milliseconds and its outcome */
  storeCall(engine: string, call: string): (milliseconds: number, outcome: CallOutcome) => void {
    const times: Partial<Record<CallOutcome, HistogramSeries>> = {};
    return (milliseconds, outcome) => {
      times[outcome] ??= this.#storeSeconds.of(engine, call, outcome);
      times[outcome].observe(milliseconds / 1000);
    };
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The metrics in Prometheus text format. */
  text(): Promise<string> {
    return this.registry.metrics();
  }
}
