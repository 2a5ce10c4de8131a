import { randomBytes } from 'node:crypto';
import { lruCache } from '../foundation/cache.ts';
import { WriteBehind } from '../foundation/write-behind.ts';
import {
  type AnsweredRequest,
  lineOf,
  MAX_REQUESTS,
  positionAt,
  type RequestChunk,
  timeOf,
} from '../store/request-chunks.ts';
import type { RequestLogStore, RequestPage, RequestQuery } from '../store/stored-request-log.ts';
import type { Principal } from './api-keys.ts';

/** The interval at which requests are written, in milliseconds. */
const INTERVAL = 1_000;
/** Requests that wait to be written at most, for the next interval or a store that is unreachable; later ones are dropped. */
const MAX_WAITING = 20_000;
/** Requests whose lines are made together at most: until then, each holds on to its URL, which may be as long as all headers. */
const MAX_ADDED = 1_000;
/** Keys whose requests are counted at once. */
const MAX_KEYS = 50_000;
/** The requests of a chunk at most. */
const CHUNK_SIZE = 100;
/** The keys whose requests are stored at once beside a journal: they delay others by a few milliseconds. */
const KEYS_AT_ONCE = 100;
/** The intervals for which requests are in the journal alone, at least. */
const JOURNALED = 60;
/** The intervals in which all that have been there for so long are stored by key. */
const FILED = 15;
/** The characters that the journal has before requests leave it early. */
const MAX_JOURNAL = 8_000_000;
/** The intervals in which a full journal is emptied. */
const EMPTIED = 4;

/** Requests of a key that are not stored by key yet, oldest first. */
interface Waiting {
  account: string;
  requests: string[];
  /** The interval in which the first of them was added. */
  since: number;
}

/**
 * The latest requests of each key, for its holder. Those of a second are written together: each key's as a chunk of its own, or,
 * where that costs more than all else of a request, all as one segment of a journal. They are then stored by key some at a time, each
 * key's about once a minute, and before they are read.
 */
export class RequestLog extends WriteBehind {
  readonly #store: RequestLogStore;
  readonly #now: () => number;
  readonly #isKept: boolean;
  readonly #waiting = new Map<string, Waiting>();
  /** Requests as they were added: their lines are made many at a time, which takes a fifth of the time. */
  #added: { principal: Principal; request: AnsweredRequest; time: number }[] = [];
  /** The lines of requests that do not wait yet. */
  #lines: { principal: Principal; line: string }[] = [];
  /** The number of requests that are not written yet. */
  #size = 0;
  /** Those for the next segment of the journal. */
  #unjournaled: string[] = [];
  /** Counts the intervals. */
  #interval = 0;
  /** The segments of the journal, oldest first; undefined until what a kill has left is read. */
  #segments: { position: string; interval: number; size: number }[] | undefined;
  /** The requests of each key stored from a position on: once as many as are shown, older ones are useless. */
  readonly #stored = lruCache<{ since: string; count: number }>(MAX_KEYS);
  readonly #instance = randomBytes(6).toString('base64url');
  #positions = 0;

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
  add(principal: Principal, request: AnsweredRequest): void {
    if (!this.#isKept || this.#size >= MAX_WAITING) return;
    if (this.#added.push({ principal, request, time: this.#now() }) === MAX_ADDED) this.#makeLines();
    this.#size++;
    this.writeLater();
  }

  /** A page of a key's latest requests, including those still in memory. @throws UNAVAILABLE */
  async page(query: RequestQuery): Promise<RequestPage> {
    if (!this.#isKept) return { requests: [] };
    const { keyId, account } = query;
    await this.inTurn(async () => {
      await this.#recover();
      this.#take();
      // All others' would become as many chunks for each reader.
      await this.#file([...this.#waiting].filter(([id, each]) => id === keyId || each.account === account));
    });
    return await this.#store.requestPage(query);
  }

  protected async write(): Promise<void> {
    await this.#recover();
    this.#take();
    const size = this.#size;
    if (this.#store.requestJournal) await this.#journal();
    else await this.#file([...this.#waiting]);
    this.#size -= size;
    this.#interval++;
  }

  #makeLines(): void {
    for (const { principal, request, time } of this.#added)
      this.#lines.push({ principal, line: lineOf(request, time) });
    this.#added = [];
  }

  /** Has requests that were added wait as lines. Nothing else is under way, so none come meanwhile. */
  #take(): void {
    this.#makeLines();
    for (const { principal, line } of this.#lines) {
      const { id, account } = principal;
      this.#waitingOf(id, account).requests.push(line);
      if (this.#store.requestJournal) this.#unjournaled.push(id, account === id ? '' : account, line);
    }
    this.#lines = [];
  }

  #waitingOf(keyId: string, account: string): Waiting {
    let waiting = this.#waiting.get(keyId);
    if (!waiting) {
      waiting = { account, requests: [], since: this.#interval };
      this.#waiting.set(keyId, waiting);
    }
    return waiting;
  }

  /** Adds the requests of an interval to the journal, and stores those by key that have been in it longest. */
  async #journal(): Promise<void> {
    const interval = this.#interval;
    const requests = this.#unjournaled;
    if (requests.length > 0) {
      const position = this.#nextPosition();
      await this.#store.requestJournal!.add({ position, requests });
      this.#unjournaled = [];
      this.#segments!.push({ position, interval, size: sizeOf(requests) });
    }
    const isFull = this.#segments!.reduce((sum, { size }) => sum + size, 0) > MAX_JOURNAL;
    const due = [...this.#waiting].filter(([, { since }]) => isFull || since <= interval - JOURNALED);
    // Those of an interval by key, since neighbours share pages of the index.
    due.sort(([a, one], [b, other]) => one.since - other.since || (a < b ? -1 : 1));
    await this.#file(due.slice(0, Math.ceil(this.#waiting.size / (isFull ? EMPTIED : FILED))));
    let oldest = Number.POSITIVE_INFINITY;
    for (const { requests, since } of this.#waiting.values()) {
      if (requests.length > MAX_REQUESTS) requests.splice(0, requests.length - MAX_REQUESTS);
      oldest = Math.min(oldest, since);
    }
    const left = this.#segments!.filter((segment) => segment.interval < oldest);
    if (left.length === 0) return;
    await this.#store.requestJournal!.delete(left.map(({ position }) => position));
    this.#segments!.splice(0, left.length);
  }

  /** Stores the waiting requests of some keys by key. */
  async #file(waiting: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    const atOnce = this.#store.requestJournal ? KEYS_AT_ONCE : Math.max(1, waiting.length);
    for (let n = 0; n < waiting.length; n += atOnce) {
      const some = waiting.slice(n, n + atOnce);
      await this.#add(some);
      // Not before they are stored: requests of a write that failed are added again.
      for (const [keyId] of some) this.#waiting.delete(keyId);
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
    for (const [keyId, counted] of counts) this.#stored.set(keyId, counted);
    for (const keyId of outdated.keys()) this.#stored.delete(keyId);
  }

  /** Takes over what an earlier process has left in the journal, without what it had stored by key. */
  async #recover(): Promise<void> {
    const { requestJournal, lastRequestOf } = this.#store;
    if (this.#segments || !requestJournal) return;
    const segments = await requestJournal.segments();
    const last = new Map<string, number>();
    for (const keyId of segments.flatMap(({ requests }) => requests.filter((_, n) => n % 3 === 0)))
      if (!last.has(keyId)) last.set(keyId, await lastRequestOf(keyId));
    for (const { requests } of segments)
      for (let n = 0; n < requests.length; n += 3) {
        const [keyId, account, line] = requests.slice(n, n + 3) as [string, string, string];
        if (timeOf(line) > last.get(keyId)!) this.#waitingOf(keyId, account || keyId).requests.push(line);
      }
    const interval = this.#interval;
    this.#segments = segments.map(({ position, requests }) => ({
      position,
      interval,
      size: sizeOf(requests),
    }));
  }

  #nextPosition(): string {
    return positionAt(this.#now(), this.#instance, this.#positions++);
  }
}

const sizeOf = (texts: readonly string[]): number => texts.reduce((sum, { length }) => sum + length, 0);
