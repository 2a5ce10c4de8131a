import { randomBytes } from 'node:crypto';
import { lruCache } from '../foundation/cache.ts';
import { cut } from '../foundation/errors.ts';
import { masked } from '../foundation/masking.ts';
import {
  type LoggedRequest,
  MAX_REQUESTS,
  type RequestChunk,
  type RequestLogStore,
  type RequestPage,
  type RequestQuery,
  type StoredRequest,
} from '../store/request-log.ts';
import type { Principal } from './api-keys.ts';

/** The interval at which requests are added to the store, in milliseconds. */
const FLUSH_INTERVAL = 1_000;
/** The number of waiting requests that triggers an early flush, so that it delays others by a few milliseconds only. */
const FLUSH_SIZE = 2_000;
/** Requests that wait while the store is unreachable; later ones are dropped. */
const MAX_WAITING = 20_000;
/** Requests that are stored together. */
const CHUNK_SIZE = 100;
/** Keys whose requests are counted at once. */
const MAX_KEYS = 50_000;
/** Characters of a path and of a message. */
export const MAX_TEXT = { path: 200, message: 500 };

/** A request as it is answered. */
export type AnsweredRequest = Omit<LoggedRequest, 'keyId' | 'time'>;

/** Requests of a key that are not stored yet. */
interface Waiting {
  account: string;
  requests: StoredRequest[];
}

/**
 * The latest requests of each key, for its holder. They wait in memory and are added to the store every {@link
 * FLUSH_INTERVAL}, all keys together, so that a kill loses at most that much of them.
 */
export class RequestLog {
  readonly #store: RequestLogStore;
  readonly #now: () => number;
  readonly #report: (error: unknown) => void;
  readonly #isKept: boolean;
  #waiting = new Map<string, Waiting>();
  #size = 0;
  /**
   * The number of a key's requests stored from a position on: once it reaches the number shown, older ones are
   * useless.
   */
  readonly #stored = lruCache<{ since: string; count: number }>(MAX_KEYS);
  readonly #instance = randomBytes(6).toString('base64url');
  #chunks = 0;
  #flushing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param options.report receives errors of adding in the background, which is tried again
   * @param options.isKept whether requests are kept at all
   */
  constructor(options: {
    store: RequestLogStore;
    now: () => number;
    report: (error: unknown) => void;
    isKept: boolean;
  }) {
    this.#store = options.store;
    this.#now = options.now;
    this.#report = options.report;
    this.#isKept = options.isKept;
  }

  /** Adds a request of a key. Reading the log is not logged, or it would soon hold nothing else. */
  add({ id, account }: Principal, request: AnsweredRequest): void {
    if (!this.#isKept || this.#size >= MAX_WAITING) return;
    if (request.operation === 'requests' && request.code === undefined) return;
    let waiting = this.#waiting.get(id);
    if (!waiting) this.#waiting.set(id, (waiting = { account, requests: [] }));
    const { transport, operation, method, path, status, code, message, units, ms } = request;
    waiting.requests.push([
      masked(request.id),
      this.#now(),
      transport,
      operation,
      method,
      masked(path.length > MAX_TEXT.path ? cut(path, MAX_TEXT.path) : path),
      status,
      units,
      ms,
      code,
      message && cut(masked(message), MAX_TEXT.message),
    ]);
    this.#timer ??= setInterval(() => this.#flushInBackground(), FLUSH_INTERVAL).unref();
    if (++this.#size === FLUSH_SIZE) this.#flushInBackground();
  }

  /** A page of a key's latest requests, including those still in memory. @throws UNAVAILABLE */
  async page(query: RequestQuery): Promise<RequestPage> {
    if (!this.#isKept) return { requests: [] };
    await this.flush();
    return await this.#store.requestPage(query);
  }

  /** Adds the waiting requests to the store. @throws UNAVAILABLE, after which it is tried again */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.catch(() => {}).then(() => this.#flush());
    return this.#flushing;
  }

  /** Adds everything one last time. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.flush();
  }

  #flushInBackground(): void {
    void this.flush().catch(this.#report);
  }

  async #flush(): Promise<void> {
    if (this.#size === 0) return;
    const waiting = this.#waiting;
    this.#waiting = new Map();
    this.#size = 0;
    const chunks: RequestChunk[] = [];
    const outdated = new Map<string, string>();
    for (const [keyId, { account, requests }] of waiting) {
      const shown = requests.slice(-MAX_REQUESTS);
      for (let n = 0; n < shown.length; n += CHUNK_SIZE) {
        const position = this.#nextPosition();
        chunks.push({ position, account, keyId, requests: shown.slice(n, n + CHUNK_SIZE) });
        const stored = this.#stored.get(keyId) ?? { since: position, count: 0 };
        stored.count += chunks.at(-1)!.requests.length;
        this.#stored.set(keyId, stored);
      }
      const stored = this.#stored.get(keyId)!;
      if (stored.count < MAX_REQUESTS) continue;
      outdated.set(keyId, stored.since);
      this.#stored.delete(keyId);
    }
    try {
      await this.#store.addRequests(chunks, outdated);
    } catch (error) {
      for (const [keyId, { account, requests }] of waiting) {
        const later = this.#waiting.get(keyId)?.requests ?? [];
        this.#waiting.set(keyId, { account, requests: [...requests, ...later] });
        this.#size += requests.length;
      }
      throw error;
    }
  }

  /** Positions of one instance ascend; those of different instances are ordered by their clocks. */
  #nextPosition(): string {
    const time = this.#now().toString(36).padStart(9, '0');
    return `${time} ${this.#instance} ${(this.#chunks++).toString(36).padStart(9, '0')}`;
  }
}
