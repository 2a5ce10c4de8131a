import { DAY } from '../foundation/instant.ts';
import type { Engine } from './engine.ts';
import type { ObjectKind } from './objects.ts';
import type { UsageTransport } from './usage-history.ts';

/** The time for which requests are shown, in milliseconds. */
export const REQUESTS_KEPT = DAY;

/** A run of consecutive requests of one key, oldest first, which are stored together. */
export interface RequestChunk {
  /** Orders chunks, and is unique. */
  position: string;
  /** The key that pays for this one. */
  account: string;
  keyId: string;
  requests: readonly StoredRequest[];
}

const base36 = (number: number): string => number.toString(36).padStart(9, '0');

/** A position at a time that no request of the chunk is later than. Those of one instance ascend by its number of chunks. */
export const positionAt = (time: number, instance: string, chunks: number): string =>
  `${base36(time)} ${instance} ${base36(chunks)}`;

/** The time of a position, in milliseconds since 1970. */
export const timeOfPosition = (position: string): number => Number.parseInt(position.slice(0, 9), 36);

/** A request without its field names, which would be half of the stored text. */
export type StoredRequest = readonly [
  id: string,
  time: number,
  transport: UsageTransport,
  operation: string,
  method: string,
  path: string,
  status: number,
  units: number,
  ms: number,
  code?: string | undefined,
  message?: string | undefined,
];

/** The term of the chunks of an account's child keys. Those of one key are found by its id. */
export const termOfChildren = (account: string): string => `account ${account}`;

export const REQUESTS: ObjectKind<RequestChunk> = {
  name: 'requests',
  keyOf: ({ position }) => position,
  // Each term of each key is one more page to write, so most keys have just one.
  termsOf: ({ account, keyId }) => (account === keyId ? [keyId] : [keyId, termOfChildren(account)]),
  expiresAt: (chunk) => timeOf(chunk) + REQUESTS_KEPT,
  separate: true,
};

/** The requests that were added by one write. */
interface Entry {
  /** The position of its last chunk. */
  position: string;
  chunks: readonly RequestChunk[];
}

const JOURNAL: ObjectKind<Entry> = {
  name: 'requestJournal',
  keyOf: ({ position }) => position,
  expiresAt: ({ chunks }) => REQUESTS.expiresAt!(chunks.at(-1)!),
  separate: true,
};

/** The time for which requests wait to be filed, in milliseconds. */
const MAX_TIME = 20_000;
/** The number of requests that wait at most, of 500 bytes each. */
const MAX_REQUESTS = 20_000;
/** The requests of a chunk at most: one with fewer takes more of the same key. */
export const CHUNK_SIZE = 100;
/** The keys whose requests are filed at once: they delay others by a few milliseconds. */
const KEYS_AT_ONCE = 250;

/** The time of a chunk's last request. */
const timeOf = ({ requests }: RequestChunk): number => requests.at(-1)![1];

/**
 * The latest requests on an engine of one process. Each key has its own pages in the index of keys, and writing one of them is
 * most of the cost of a request whose key has no other in that second. So all keys' requests of a second are one entry, which
 * survives a kill; they are filed by key every 20 seconds, and those of a key when they are read.
 */
export class RequestJournal {
  readonly #engine: Pick<Engine, 'objects' | 'transaction'>;
  #waiting = new Map<string, RequestChunk[]>();
  #size = 0;
  /** The positions of the entries that requests wait in, oldest first. */
  #entries: string[] = [];
  /** Settles when what was begun has ended. Begins with what a kill has left. */
  #turn: Promise<void> | undefined;

  constructor(engine: Pick<Engine, 'objects' | 'transaction'>) {
    this.#engine = engine;
  }

  /** Adds requests. @throws UNAVAILABLE */
  add(chunks: readonly RequestChunk[]): Promise<void> {
    return this.#inTurn(async () => {
      const { position } = chunks.at(-1)!;
      const [oldest = position] = this.#entries;
      const waited = timeOfPosition(position) - timeOfPosition(oldest);
      if (waited >= MAX_TIME || this.#size >= MAX_REQUESTS) await this.#fileAll();
      const entry = { position, chunks };
      await this.#engine.transaction((own) => own.objects(JOURNAL).put([entry]), 'single');
      this.#take(entry);
    });
  }

  /** Files the requests of a key, and of those that an account has made. @throws UNAVAILABLE */
  file(keyId: string, account: string | undefined): Promise<void> {
    return this.#inTurn(() =>
      this.#file([...this.#waiting].filter(([key, [chunk]]) => key === keyId || chunk!.account === account)),
    );
  }

  async #fileAll(): Promise<void> {
    const all = [...this.#waiting];
    for (let n = 0; n < all.length; n += KEYS_AT_ONCE) await this.#file(all.slice(n, n + KEYS_AT_ONCE));
    const entries = this.#entries;
    await this.#engine.transaction((own) => own.objects(JOURNAL).delete(entries), 'single');
    this.#entries = [];
  }

  async #file(waiting: readonly [keyId: string, chunks: RequestChunk[]][]): Promise<void> {
    const chunks = waiting.flatMap(([, each]) => each);
    if (chunks.length === 0) return;
    await this.#engine.transaction((own) => own.objects(REQUESTS).put(chunks), 'single');
    for (const [keyId] of waiting) this.#waiting.delete(keyId);
    for (const { requests } of chunks) this.#size -= requests.length;
  }

  #take({ position, chunks }: Entry): void {
    this.#entries.push(position);
    for (const chunk of chunks) {
      this.#size += chunk.requests.length;
      const all = this.#waiting.get(chunk.keyId);
      const last = all?.at(-1);
      if (!all) this.#waiting.set(chunk.keyId, [chunk]);
      // Within a chunk they are ordered by time.
      else if (
        last!.requests.length + chunk.requests.length > CHUNK_SIZE ||
        timeOf(last!) > chunk.requests[0]![1]
      )
        all.push(chunk);
      else all[all.length - 1] = { ...chunk, requests: [...last!.requests, ...chunk.requests] };
    }
  }

  /** Takes what a kill has left, without what was filed before it. */
  async #recover(): Promise<void> {
    const entries = await this.#engine.objects(JOURNAL).all();
    const filed = new Map<string, string>();
    for (const { keyId } of entries.flatMap(({ chunks }) => chunks)) {
      if (filed.has(keyId)) continue;
      const [last] = await this.#engine.objects(REQUESTS).latest(keyId, 1);
      filed.set(keyId, last?.position ?? '');
    }
    for (const { position, chunks } of entries)
      this.#take({ position, chunks: chunks.filter((chunk) => chunk.position > filed.get(chunk.keyId)!) });
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const before = this.#turn ?? this.#recover();
    const own = before.then(work);
    // A failure is its caller's; what could not be read is read again.
    this.#turn = own.catch(() => {});
    before.catch(() => (this.#turn = undefined));
    return own;
  }
}
