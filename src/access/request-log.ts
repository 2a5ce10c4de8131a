import { randomBytes } from 'node:crypto';
import { lruCache } from '../foundation/cache.ts';
import { WriteBehind } from '../foundation/write-behind.ts';
import {
  type AnsweredRequest,
  type JournalSegment,
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
/** The maximum number of unwritten requests, such as while the store is unreachable; later ones are dropped. */
const MAX_WAITING = 20_000;
/** The number of requests whose lines are made together, which takes a fifth of the time. */
const MAX_ADDED = 100;
/** Requests that are added to the journal at once: those of a busy second would delay others by 10 ms. */
const MAX_JOURNALED = 1_000;
/** The maximum number of keys whose stored requests are counted. */
const MAX_KEYS = 50_000;
/** The maximum number of requests in a chunk. */
const CHUNK_SIZE = 100;
/** The number of keys whose requests are stored together, beside a journal: they delay others by a few milliseconds. */
const KEYS_AT_ONCE = 100;
/** The minimum number of intervals for which requests are only in the journal. */
const JOURNALED = 60;
/** The number of intervals in which requests that have been there so long are stored by key. */
const FILED = 15;
/** The length of the journal above which requests leave it early, in characters. */
const MAX_JOURNAL = 8_000_000;
/** The number of intervals in which a full journal is emptied. */
const EMPTIED = 4;

/** The requests of a key that are not stored by key yet, oldest first. */
interface Waiting {
  account: string;
  /** The offsets of their lines in the concatenated texts of all segments. */
  places: number[];
  /** The interval in which the first one was added. */
  since: number;
}

/** The requests of all keys in an interval. Their lines are one text, which is faster to garbage-collect. */
interface Segment {
  /** The offset of its text. */
  start: number;
  text: string;
  /** Its parts in the journal. */
  positions: string[];
  /** The requests that are not in the journal yet. */
  rest: Omit<JournalSegment, 'position'>;
}

const NOTHING: Segment['rest'] = { keys: [], text: '' };

/**
 * The latest requests of each key, for its holder. The requests of a second are written together: as a chunk per key
 * or, where that would cost more than everything else in a request, as a segment of a journal. From there they are
 * stored by key some at a time, each key's about once a minute, and before they are read.
 */
export class RequestLog extends WriteBehind {
  readonly #store: RequestLogStore;
  readonly #now: () => number;
  readonly #isKept: boolean;
  readonly #waiting = new Map<string, Waiting>();
  /** Requests as added. Each keeps its URL in memory, which may be as long as all headers. */
  #added: { principal: Principal; request: AnsweredRequest; time: number }[] = [];
  /** The keys and lines of requests that are in no segment yet. */
  #keys: string[] = [];
  #text = '';
  /** The number of requests that are not written yet. */
  #size = 0;
  /** Counts the intervals. */
  #interval = 0;
  /** Oldest first. The last one is not in the journal yet. Empty until the journal of a killed process is read. */
  readonly #segments: Segment[] = [];
  /** The number of requests stored per key since a position. At MAX_REQUESTS, older ones are useless. */
  readonly #stored = lruCache<{ since: string; count: number }>(MAX_KEYS);
  readonly #instance = randomBytes(6).toString('base64url');
  #positions = 0;

  /** @param options.isKept false to keep no requests */
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
    if (++this.#size % MAX_JOURNALED === 0 && this.#store.requestJournal)
      // A failed write is retried.
      this.inTurn(async () => void (await this.#journal())).catch(() => {});
    this.writeLater();
  }

  /** A page of a key's latest requests, including those still in memory. @throws UNAVAILABLE */
  async page(query: RequestQuery): Promise<RequestPage> {
    if (!this.#isKept) return { requests: [] };
    const { keyId, account } = query;
    await this.inTurn(async () => {
      await this.#recover();
      this.#take();
      // Only these keys: storing all would create a chunk per key for each reader.
      await this.#file([...this.#waiting].filter(([id, each]) => id === keyId || each.account === account));
    });
    return await this.#store.requestPage(query);
  }

  protected async write(): Promise<void> {
    const size = await this.#journal();
    if (this.#segments.at(-1)!.text !== '') this.#endSegment();
    await this.#file(this.#store.requestJournal ? this.#due() : [...this.#waiting]);
    await this.#removeSegments();
    this.#size -= size;
    this.#interval++;
  }

  /** Adds requests to the journal. @returns the number of unstored requests that it covers */
  async #journal(): Promise<number> {
    await this.#recover();
    this.#take();
    const size = this.#size;
    const segment = this.#segments.at(-1)!;
    if (segment.rest !== NOTHING) {
      const position = this.#nextPosition();
      await this.#store.requestJournal?.add({ position, ...segment.rest });
      segment.positions.push(position);
      segment.rest = NOTHING;
    }
    return size;
  }

  #makeLines(): void {
    const lines = this.#added.map(({ principal: { id, account }, request, time }) => {
      this.#keys.push(id, account === id ? '' : account);
      return lineOf(request, time);
    });
    this.#text += [...lines, ''].join('\n');
    this.#added = [];
  }

  /** Moves added requests to the last segment. Runs in turn, so nothing else does meanwhile. */
  #take(): void {
    this.#makeLines();
    if (this.#text === '') return;
    this.#append(this.#keys, this.#text);
    this.#keys = [];
    this.#text = '';
  }

  /** Adds requests to the last segment. */
  #append(keys: readonly string[], text: string): void {
    const segment = this.#segments.at(-1)!;
    const start = segment.start + segment.text.length;
    let from = 0;
    for (let n = 0; n < keys.length; n += 2) {
      const keyId = keys[n]!;
      const account = keys[n + 1] || keyId;
      const waiting = this.#waiting.get(keyId) ?? { account, places: [], since: this.#interval };
      waiting.places.push(start + from);
      this.#waiting.set(keyId, waiting);
      from = text.indexOf('\n', from) + 1;
    }
    segment.rest = { keys: [...segment.rest.keys, ...keys], text: segment.rest.text + text };
    segment.text += text;
  }

  #endSegment(): void {
    const { start, text } = this.#segments.at(-1)!;
    this.#segments.push({ start: start + text.length, text: '', positions: [], rest: NOTHING });
  }

  #lineAt(place: number): string {
    const { start, text } = this.#segments.findLast((segment) => segment.start <= place)!;
    return text.slice(place - start, text.indexOf('\n', place - start));
  }

  /** The keys whose requests are to be stored now: those that have been in the journal longest. */
  #due(): (readonly [keyId: string, Waiting])[] {
    const isFull = this.#segments.at(-1)!.start - this.#segments[0]!.start > MAX_JOURNAL;
    const last = isFull ? this.#interval : this.#interval - JOURNALED;
    const due = [...this.#waiting].filter(([, { since }]) => since <= last);
    // Within an interval by key, since neighbours share pages of the index.
    due.sort(([a, one], [b, other]) => one.since - other.since || (a < b ? -1 : 1));
    return due.slice(0, Math.ceil(this.#waiting.size / (isFull ? EMPTIED : FILED)));
  }

  /** Stores the waiting requests of some keys by key. */
  async #file(waiting: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    const atOnce = this.#store.requestJournal ? KEYS_AT_ONCE : Math.max(1, waiting.length);
    for (let n = 0; n < waiting.length; n += atOnce) {
      const some = waiting.slice(n, n + atOnce);
      await this.#add(some);
      // Only after they are stored, so that a failed write is repeated.
      for (const [keyId] of some) this.#waiting.delete(keyId);
    }
  }

  /** Removes the segments before the oldest waiting request. */
  async #removeSegments(): Promise<void> {
    const oldest = [...this.#waiting.values()].reduce(
      (least, { places }) => Math.min(least, places[0]!),
      this.#segments.at(-1)!.start,
    );
    const left = this.#segments.slice(
      0,
      this.#segments.findLastIndex(({ start }) => start <= oldest),
    );
    if (left.length === 0) return;
    await this.#store.requestJournal?.delete(left.flatMap(({ positions }) => positions));
    this.#segments.splice(0, left.length);
  }

  async #add(waiting: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    const chunks: RequestChunk[] = [];
    const outdated = new Map<string, string>();
    const counts = new Map<string, { since: string; count: number }>();
    for (const [keyId, { account, places }] of waiting) {
      const shown = places.slice(-MAX_REQUESTS).map((place) => this.#lineAt(place));
      const { since, count } = this.#stored.get(keyId) ?? { since: this.#nextPosition(), count: 0 };
      for (let n = 0; n < shown.length; n += CHUNK_SIZE)
        chunks.push({
          position: this.#nextPosition(),
          account,
          keyId,
          requests: shown.slice(n, n + CHUNK_SIZE),
        });
      counts.set(keyId, { since, count: count + shown.length });
      if (count + shown.length >= MAX_REQUESTS) outdated.set(keyId, since);
    }
    await this.#store.addRequests(chunks, outdated);
    for (const [keyId, counted] of counts) this.#stored.set(keyId, counted);
    for (const keyId of outdated.keys()) this.#stored.delete(keyId);
  }

  /** Takes over the journal of an earlier process, without requests that it had stored by key. */
  async #recover(): Promise<void> {
    if (this.#segments.length > 0) return;
    const { requestJournal, lastRequestOf } = this.#store;
    const segments = (await requestJournal?.segments()) ?? [];
    const last = new Map<string, number>();
    for (const keyId of new Set(segments.flatMap(({ keys }) => keys)))
      last.set(keyId, await lastRequestOf(keyId));
    this.#segments.push({ start: 0, text: '', positions: [], rest: NOTHING });
    for (const { position, keys, text } of segments) {
      this.#append(keys, text);
      Object.assign(this.#segments.at(-1)!, { positions: [position], rest: NOTHING });
      this.#endSegment();
    }
    for (const [keyId, waiting] of this.#waiting) {
      waiting.places = waiting.places.filter((place) => timeOf(this.#lineAt(place)) > last.get(keyId)!);
      if (waiting.places.length === 0) this.#waiting.delete(keyId);
    }
  }

  #nextPosition(): string {
    return positionAt(this.#now(), this.#instance, this.#positions++);
  }
}
