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
} from '../store/request-chunks.ts';
import type { RequestJournal } from '../store/request-journal.ts';
import type { RequestPage, RequestQuery } from '../store/stored-request-log.ts';
import type { Store } from '../store/store.ts';
import type { Principal } from './api-keys.ts';

/** The interval at which requests are written, in milliseconds. */
const INTERVAL = 1_000;
/** The maximum number of unwritten requests, such as while the store is unreachable; later ones are dropped. */
const MAX_WAITING = 20_000;
/** The maximum size of their lines, in bytes. Memory that is never written to takes none of the machine's. */
const MAX_BYTES = 8_000_000;
/** The number of requests whose lines are made together, which takes a fifth of the time. */
const MAX_ADDED = 100;
/** The maximum number of keys whose stored requests are counted. */
const MAX_KEYS = 50_000;
/** The maximum number of requests in a chunk. */
const CHUNK_SIZE = 200;
/** The number of keys whose requests are stored together where that delays others, by a few milliseconds. */
const KEYS_AT_ONCE = 100;
/** The number of lines of a journal that are read together, or somewhat more, since that may read all of it. */
const LINES_AT_ONCE = 40_000;
/** The number of lines that take a turn of the event loop. */
const LINES_PER_TURN = 5_000;
/** When the lines of some keys are due, at least one in this many keys is stored. */
const SHARES = 8;

/** The requests of a key that are not stored by key yet. */
interface Waiting {
  account: string;
  /**
   * The places of the lines of the last MAX_REQUESTS, of which the journal may have removed some. The next replaces the
   * oldest, at `count` modulo MAX_REQUESTS.
   */
  places: number[];
  count: number;
}

/** Lines of a key, oldest first. */
interface KeyLines {
  keyId: string;
  account: string;
  lines: string[];
}

/**
 * The latest requests of each key, for its holder. The requests of a second are added to a journal together, and stored
 * by key from there: where storing a chunk per key each second would cost more than everything else in a request, minutes
 * later, and before they are read. A line of the journal is that of the chunk, after the key's id and account.
 */
export class RequestLog extends WriteBehind {
  readonly #store: Store;
  readonly #journal: RequestJournal | undefined;
  readonly #now: () => number;
  readonly #isKept: boolean;
  /** By the id of the key. */
  readonly #waiting = new Map<string, Waiting>();
  /** Requests as added. Each keeps its URL in memory, which may be as long as all headers. */
  #added: { principal: Principal; request: AnsweredRequest; time: number }[] = [];
  /** Lines that are not in the journal yet, as UTF-8: strings would be moved by garbage collections. */
  readonly #lines = Buffer.allocUnsafeSlow(MAX_BYTES);
  #size = 0;
  /** Their number, and their keys and lengths, in lists that aren't made anew. */
  #count = 0;
  readonly #keys: Principal[] = [];
  readonly #lengths = new Int32Array(MAX_WAITING + MAX_ADDED);
  /** Set once the journal of an earlier process has been read. */
  #isRecovered = false;
  /** The number of requests stored per key since a position. At MAX_REQUESTS, older ones are useless. */
  readonly #stored = lruCache<{ since: string; count: number }>(MAX_KEYS);
  readonly #instance = randomBytes(6).toString('base64url');
  #positions = 0;

  /** @param options.isKept false to keep no requests */
  constructor(options: {
    store: Store;
    now: () => number;
    report: (error: unknown) => void;
    isKept: boolean;
  }) {
    super(INTERVAL, options.report);
    this.#store = options.store;
    this.#journal = options.store.requestJournal;
    this.#now = options.now;
    this.#isKept = options.isKept;
    if (!options.isKept) this.#journal?.clear();
  }

  /** Adds a request of a key. */
  add(principal: Principal, request: AnsweredRequest): void {
    if (!this.#isKept || this.#count >= MAX_WAITING) return;
    if (this.#added.push({ principal, request, time: this.#now() }) === MAX_ADDED) this.#makeLines();
    this.writeLater();
  }

  /** A page of a key's latest requests, including those still in memory. @throws UNAVAILABLE */
  async page(query: RequestQuery): Promise<RequestPage> {
    if (!this.#isKept) return { requests: [] };
    const { keyId, account } = query;
    await this.inTurn(async () => {
      if (!this.#journal) return await this.#putAll();
      await this.#journalise(this.#journal);
      // Only these keys: storing all would create a chunk per key for each reader.
      const own = [...this.#waiting].filter(([id, each]) => id === keyId || each.account === account);
      await this.#file(this.#journal, own);
    });
    return await this.#store.requestPage(query);
  }

  protected async write(): Promise<void> {
    const journal = this.#journal;
    if (!journal) return await this.#putAll();
    await this.#journalise(journal);
    const { start, due } = journal;
    if (due === undefined) return;
    if (due > start) {
      const keys = [...this.#waiting];
      const isDue = ([, { places, count }]: (typeof keys)[number]) =>
        (places[count % MAX_REQUESTS] ?? places[0]!) < due;
      // Some others too, so that not all keys are due at once.
      const others = keys.some(isDue) ? Math.ceil(keys.length / SHARES) : 0;
      const some = keys.filter((key, n) => n < others || isDue(key));
      await this.#file(journal, some);
    }
    journal.turn();
    for (const [keyId, { places, count }] of this.#waiting)
      if (places[(count - 1) % MAX_REQUESTS]! < journal.start) this.#waiting.delete(keyId);
  }

  /** Stores all requests by key. */
  async #putAll(): Promise<void> {
    this.#makeLines();
    const size = this.#size;
    const count = this.#count;
    await this.#put([...byKey(this.#lines.toString('utf8', 0, size).split('\n')).values()]);
    // Others may have been added meanwhile.
    this.#lines.copyWithin(0, size, this.#size);
    this.#size -= size;
    this.#keys.copyWithin(0, count, this.#count);
    this.#lengths.copyWithin(0, count, this.#count);
    this.#count -= count;
  }

  /** Moves added requests to the journal. */
  async #journalise(journal: RequestJournal): Promise<void> {
    await this.#recover(journal);
    this.#makeLines();
    if (this.#size > 0 && !journal.isFull) {
      let place = journal.end;
      journal.add(this.#lines.subarray(0, this.#size));
      for (let n = 0; n < this.#count; n++) {
        const { id, account } = this.#keys[n]!;
        this.#addPlace(id, account, place);
        place += this.#lengths[n]!;
      }
    }
    this.#size = this.#count = 0;
  }

  #makeLines(): void {
    const added = this.#added;
    this.#added = [];
    const lines = added.map(
      ({ principal: { id, account }, request, time }) =>
        `${id} ${account === id ? '' : account} ${lineOf(request, time)}\n`,
    );
    const text = lines.join('');
    const size = Buffer.byteLength(text);
    if (this.#size + size > MAX_BYTES) return;
    this.#size += this.#lines.write(text, this.#size);
    for (const [n, line] of lines.entries()) {
      this.#keys[this.#count] = added[n]!.principal;
      this.#lengths[this.#count++] = size === text.length ? line.length : Buffer.byteLength(line);
    }
  }

  /** Stores the waiting requests of some keys by key, some at a time. */
  async #file(journal: RequestJournal, keys: readonly (readonly [keyId: string, Waiting])[]): Promise<void> {
    for (let n = 0; n < keys.length;) {
      const places: number[] = [];
      const first = n;
      for (; n < keys.length && places.length < LINES_AT_ONCE; n++) places.push(...keys[n]![1].places);
      const linesOf = new Map<string, KeyLines>();
      for (const lines of journal.linesAt(Float64Array.from(places).sort())) {
        byKey(lines, linesOf);
        await ownTurn();
      }
      const some = keys.slice(first, n).map(([keyId]) => keyId);
      for (let m = 0; m < some.length; m += KEYS_AT_ONCE) {
        const stored = some.slice(m, m + KEYS_AT_ONCE);
        await this.#put(stored.flatMap((keyId) => linesOf.get(keyId) ?? []));
        for (const keyId of stored) this.#waiting.delete(keyId);
      }
    }
  }

  async #put(keys: readonly KeyLines[]): Promise<void> {
    const chunks: RequestChunk[] = [];
    const outdated = new Map<string, string>();
    const counts = new Map<string, { since: string; count: number }>();
    for (const { keyId, account, lines } of keys) {
      const { since, count } = this.#stored.get(keyId) ?? { since: this.#nextPosition(), count: 0 };
      for (let n = 0; n < lines.length; n += CHUNK_SIZE)
        chunks.push({
          position: this.#nextPosition(),
          account,
          keyId,
          requests: lines.slice(n, n + CHUNK_SIZE),
        });
      counts.set(keyId, { since, count: count + lines.length });
      if (count + lines.length >= MAX_REQUESTS) outdated.set(keyId, since);
    }
    await this.#store.addRequests(chunks, outdated);
    for (const [keyId, counted] of counts) this.#stored.set(keyId, counted);
    for (const keyId of outdated.keys()) this.#stored.delete(keyId);
  }

  /** Takes over the journal of an earlier process, without requests that it had stored by key. */
  async #recover(journal: RequestJournal): Promise<void> {
    if (this.#isRecovered) return;
    // Of an attempt that failed.
    this.#waiting.clear();
    const last = new Map<string, number>();
    let count = 0;
    for (const [place, line] of journal.lines()) {
      if (++count % LINES_PER_TURN === 0) await ownTurn();
      const [keyId, account, , time] = line.split(' ', 4) as [string, ...string[]];
      if (!last.has(keyId)) last.set(keyId, await this.#store.lastRequestOf(keyId));
      if (Number(time) > last.get(keyId)!) this.#addPlace(keyId, account || keyId, place);
    }
    this.#isRecovered = true;
  }

  #addPlace(keyId: string, account: string, place: number): void {
    const each = this.#waiting.get(keyId);
    if (each) each.places[each.count++ % MAX_REQUESTS] = place;
    else this.#waiting.set(keyId, { account, places: [place], count: 1 });
  }

  #nextPosition(): string {
    return positionAt(this.#now(), this.#instance, this.#positions++);
  }
}

/** A line, with what precedes that of the request: the key's id, and its account if that is another. */
const LINE = /^(\S+) (\S*) (.*)$/s;

/** Sorts lines by their keys. */
function byKey(lines: readonly string[], sorted = new Map<string, KeyLines>()): Map<string, KeyLines> {
  for (const line of lines) {
    const [, keyId, account, own] = LINE.exec(line) ?? [];
    if (keyId === undefined) continue;
    const same = sorted.get(keyId);
    if (same) same.lines.push(own!);
    else sorted.set(keyId, { keyId, account: account || keyId, lines: [own!] });
  }
  return sorted;
}
