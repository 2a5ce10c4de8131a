import { randomBytes } from 'node:crypto';
import { lruCache } from '../foundation/cache.ts';
import { cut } from '../foundation/errors.ts';
import { masked } from '../foundation/masking.ts';
import {
  type LoggedRequest,
  MAX_REQUESTS,
  type RequestLogStore,
  type RequestPage,
  type RequestQuery,
} from '../store/request-log.ts';
import { CHUNK_SIZE, positionAt, type RequestChunk, type StoredRequest } from '../store/request-journal.ts';
import { WriteBehind } from '../foundation/write-behind.ts';
import type { Principal } from './api-keys.ts';

/** The interval at which requests are added to the store, in milliseconds. */
const INTERVAL = 1_000;
/** Requests that wait at most, for the next interval or for a store that is unreachable; later ones are dropped. */
const MAX_WAITING = 20_000;
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

/** The latest requests of each key, for its holder. They wait in memory and are added to the store every second. */
export class RequestLog extends WriteBehind {
  readonly #store: RequestLogStore;
  readonly #now: () => number;
  readonly #isKept: boolean;
  readonly #waiting = new Map<string, Waiting>();
  #size = 0;
  /** The requests of each key stored from a position on: once as many as are shown, older ones are useless. */
  readonly #stored = lruCache<{ since: string; count: number }>(MAX_KEYS);
  readonly #instance = randomBytes(6).toString('base64url');
  #chunks = 0;

  /** @param options.isKept whether requests are kept at all */
  constructor(options: {
    store: RequestLogStore;
    now: () => number;
    report: (error: unknown) => void;
    isKept: boolean;
  }) {
    super(INTERVAL, options.report);
    this.#store = options.store;
    this.#now = options.now;
    this.#isKept = options.isKept;
  }

  /** Adds a request of a key. */
  add({ id, account }: Principal, request: AnsweredRequest): void {
    if (!this.#isKept || this.#size >= MAX_WAITING) return;
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
    this.#size++;
    this.writeLater();
  }

  /** A page of a key's latest requests, including those still in memory. @throws UNAVAILABLE */
  async page(query: RequestQuery): Promise<RequestPage> {
    if (!this.#isKept) return { requests: [] };
    const { keyId, account } = query;
    // All others' would become as many chunks for each reader.
    await this.inTurn(() => this.#write((id, waiting) => id === keyId || waiting.account === account));
    return await this.#store.requestPage(query);
  }

  protected write(): Promise<void> {
    return this.#write(() => true);
  }

  /** Adds the waiting requests of some keys to the store, of as many keys at once as it takes. */
  async #write(isMeant: (keyId: string, waiting: Waiting) => boolean): Promise<void> {
    const meant = [...this.#waiting].filter(([keyId, waiting]) => isMeant(keyId, waiting));
    const { requestKeysAtOnce } = this.#store;
    for (let n = 0; n < meant.length; n += requestKeysAtOnce) {
      const some = meant.slice(n, n + requestKeysAtOnce);
      for (const [keyId, { requests }] of some) {
        this.#waiting.delete(keyId);
        this.#size -= requests.length;
      }
      try {
        await this.#add(some);
      } catch (error) {
        for (const [keyId, { account, requests }] of some) {
          const later = this.#waiting.get(keyId)?.requests ?? [];
          this.#waiting.set(keyId, { account, requests: [...requests, ...later] });
          this.#size += requests.length;
        }
        throw error;
      }
    }
  }

  async #add(waiting: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    const chunks: RequestChunk[] = [];
    const outdated = new Map<string, string>();
    const counts = new Map<string, { since: string; count: number }>();
    for (const [keyId, { account, requests }] of waiting) {
      const shown = requests.slice(-MAX_REQUESTS);
      const { since, count } = this.#stored.get(keyId) ?? { since: this.#nextPosition(), count: 0 };
      for (let n = 0; n < shown.length; n += CHUNK_SIZE) {
        const chunk = shown.slice(n, n + CHUNK_SIZE);
        chunks.push({ position: this.#nextPosition(), account, keyId, requests: chunk });
      }
      counts.set(keyId, { since, count: count + shown.length });
      if (count + shown.length >= MAX_REQUESTS) outdated.set(keyId, since);
    }
    await this.#store.addRequests(chunks, outdated);
    // Not before they are stored: requests of a write that failed are added again.
    for (const [keyId, counted] of counts) this.#stored.set(keyId, counted);
    for (const keyId of outdated.keys()) this.#stored.delete(keyId);
  }

  #nextPosition(): string {
    return positionAt(this.#now(), this.#instance, this.#chunks++);
  }
}
