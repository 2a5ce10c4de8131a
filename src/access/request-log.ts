import { randomBytes } from 'node:crypto';
import { lruCache } from '../foundation/cache.ts';
import { ownTurn } from '../foundation/turns.ts';
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
/** The maximum number of unwritten requests, such as while the store is unreachable; later ones are dropped. */
const MAX_WAITING = 20_000;
/** The number of requests whose lines are made together, which takes a fifth of the time. */
const MAX_ADDED = 100;
/** The maximum number of keys whose stored requests are counted. */
const MAX_KEYS = 50_000;
/** The maximum number of requests in a chunk. */
const CHUNK_SIZE = 200;
/** The number of keys whose requests are stored together, beside a journal: they delay others by a few milliseconds. */
const KEYS_AT_ONCE = 100;
/**
 * The minimum number of intervals for which requests are only in the journal. The longer, the more of them a key has,
 * which cost little more than one to store.
 */
const JOURNALED = 600;
/** The number of intervals in which requests that have been there so long are stored by key. */
const FILED = 15;
/** The length of the journal above which requests leave it early, in characters. */
const MAX_JOURNAL = 9_000_000;
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
  /** As in the journal; empty once they are there. */
  keys: string[];
  /** Unset until it is in the journal. */
  position?: string;
}

/**
 * The latest requests of each key, for its holder. The requests of a second are written together: as a chunk per key
 * or, where that would cost more than everything else in a request, as a segment of a journal. From there they are
 * stored by key some at a time, each key's about every ten minutes, and before they are read.
 */
export class RequestLog extends WriteBehind {
  readonly #store: RequestLogStore;
  readonly #now: () => number;
  readonly #isKept: boolean;
  /** By the id of the key, oldest first. */
  #waiting = new Map<string, Waiting>();
  /** Requests as added. Each keeps its URL in memory, which may be as long as all headers. */
  #added: { principal: Principal; request: AnsweredRequest; time: number }[] = [];
  /** The number of requests that are not written yet. */
  #size = 0;
  /** Counts the intervals. */
  #interval = 0;
  /** Oldest first. Requests are added to the last one. */
  readonly #segments: Segment[] = [{ start: 0, text: '', keys: [] }];
  /** Set once the journal of an earlier process has been read. */
  #isRecovered = false;
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
    this.#size++;
    this.writeLater();
  }

  /** A page of a key's latest requests, including those still in memory. @throws UNAVAILABLE */
  async page(query: RequestQuery): Promise<RequestPage> {
    if (!this.#isKept) return { requests: [] };
    const { keyId, account } = query;
    await this.inTurn(async () => {
      await this.#recover();
      this.#makeLines();
      // Only these keys: storing all would create a chunk per key for each reader.
      await this.#file([...this.#waiting].filter(([id, each]) => id === keyId || each.account === account));
    });
    return await this.#store.requestPage(query);
  }

  protected async write(): Promise<void> {
    await this.#recover();
    this.#makeLines();
    const size = this.#size;
    const { start, text } = this.#segments.at(-1)!;
    if (text !== '') this.#segments.push({ start: start + text.length, text: '', keys: [] });
    const { requestJournal } = this.#store;
    if (requestJournal)
      for (const segment of this.#segments.slice(0, -1)) {
        if (segment.position !== undefined) continue;
        const position = this.#nextPosition();
        await requestJournal.add({ position, keys: segment.keys, text: segment.text });
        Object.assign(segment, { position, keys: [] });
      }
    await this.#file(requestJournal ? this.#due() : [...this.#waiting]);
    await this.#removeSegments();
    this.#size -= size;
    this.#interval++;
  }

  /** Moves added requests to the last segment. */
  #makeLines(): void {
    const segment = this.#segments.at(-1)!;
    let place = segment.start + segment.text.length;
    const lines = this.#added.map(({ principal: { id, account }, request, time }) => {
      const line = lineOf(request, time);
      addPlace(this.#waiting, id, account, place, this.#interval);
      place += line.length + 1;
      segment.keys.push(id, account === id ? '' : account);
      return line;
    });
    this.#added = [];
    segment.text += [...lines, ''].join('\n');
  }

  /** The keys whose requests are to be stored now: those that have been in the journal longest. */
  #due(): (readonly [keyId: string, Waiting])[] {
    const isFull = this.#segments.at(-1)!.start - this.#segments[0]!.start > MAX_JOURNAL;
    const last = isFull ? this.#interval : this.#interval - JOURNALED;
    const due: [string, Waiting][] = [];
    for (const entry of this.#waiting) {
      if (entry[1].since > last) break;
      due.push(entry);
    }
    // Within an interval by key, since neighbours share pages of the index.
    due.sort(([a, one], [b, other]) => one.since - other.since || (a < b ? -1 : 1));
    return due.slice(0, Math.ceil(this.#waiting.size / (isFull ? EMPTIED : FILED)));
  }

  /** Stores the waiting requests of some keys by key. */
  async #file(waiting: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    const atOnce = this.#store.requestJournal ? KEYS_AT_ONCE : Math.max(1, waiting.length);
    for (let n = 0; n < waiting.length; n += atOnce) {
      const some = waiting.slice(n, n + atOnce);
      // Those added meanwhile wait anew.
      for (const [keyId] of some) this.#waiting.delete(keyId);
      try {
        await this.#add(some);
      } catch (error) {
        this.#waiting = joined(some, this.#waiting);
        throw error;
      }
    }
  }

  /** Removes the segments before the oldest waiting request. */
  async #removeSegments(): Promise<void> {
    const [oldest] = this.#waiting.values();
    const place = oldest?.places[0] ?? this.#segments.at(-1)!.start;
    const left = this.#segments.slice(
      0,
      this.#segments.findLastIndex(({ start }) => start <= place),
    );
    if (left.length === 0) return;
    await this.#store.requestJournal?.delete(left.map(({ position }) => position!));
    this.#segments.splice(0, left.length);
  }

  /** The lines at some places, in ascending order. */
  #linesAt(places: readonly number[]): string[] {
    let n = 0;
    return places.map((place) => {
      while (this.#segments[n + 1] && this.#segments[n + 1]!.start <= place) n++;
      const { start, text } = this.#segments[n]!;
      return text.slice(place - start, text.indexOf('\n', place - start));
    });
  }

  async #add(waiting: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    const chunks: RequestChunk[] = [];
    const outdated = new Map<string, string>();
    const counts = new Map<string, { since: string; count: number }>();
    for (const [keyId, { account, places }] of waiting) {
      const shown = this.#linesAt(places.slice(-MAX_REQUESTS));
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
    if (this.#isRecovered) return;
    const { requestJournal, lastRequestOf } = this.#store;
    const journal = (await requestJournal?.segments()) ?? [];
    const segments: Segment[] = [];
    const waiting = new Map<string, Waiting>();
    const last = new Map<string, number>();
    let place = -journal.reduce((length, { text }) => length + text.length, 0);
    for (const { position, keys, text } of journal) {
      await ownTurn();
      segments.push({ start: place, text, keys: [], position });
      const lines = text.split('\n').slice(0, -1);
      for (const [n, line] of lines.entries()) {
        const keyId = keys[2 * n]!;
        if (!last.has(keyId)) last.set(keyId, await lastRequestOf(keyId));
        if (timeOf(line) > last.get(keyId)!) addPlace(waiting, keyId, keys[2 * n + 1] || keyId, place, 0);
        place += line.length + 1;
      }
    }
    this.#segments.unshift(...segments);
    this.#waiting = joined(waiting, this.#waiting);
    this.#isRecovered = true;
  }

  #nextPosition(): string {
    return positionAt(this.#now(), this.#instance, this.#positions++);
  }
}

function addPlace(
  waiting: Map<string, Waiting>,
  keyId: string,
  account: string,
  place: number,
  interval: number,
): void {
  const places = waiting.get(keyId)?.places;
  if (places) places.push(place);
  else waiting.set(keyId, { account, places: [place], since: interval });
}

/** All waiting requests, oldest first. @param later those of the same keys are later too */
function joined(
  earlier: Iterable<readonly [keyId: string, Waiting]>,
  later: Iterable<readonly [keyId: string, Waiting]>,
): Map<string, Waiting> {
  const all = new Map(earlier);
  for (const [keyId, waiting] of later) {
    const before = all.get(keyId);
    all.set(keyId, before ? { ...before, places: [...before.places, ...waiting.places] } : waiting);
  }
  return new Map([...all].sort(([, one], [, other]) => one.places[0]! - other.places[0]!));
}
