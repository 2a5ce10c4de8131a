import type { ApiKeyStore } from './stored-api-keys.ts';
import type { Engine, EngineTransaction } from './engine.ts';
import type { EventStore } from './events.ts';
import type { Load } from './loads.ts';
import type { ObjectKind } from './objects.ts';
import type { RequestLogStore } from './stored-request-log.ts';
import type { Tables } from '../foundation/table.ts';
import type { DocumentStore } from './trusted-documents.ts';
import type { LimiterStore } from './limiter-algorithm.ts';
import type { UsageHistoryStore } from './stored-usage-history.ts';

/** The reads and writes of a transaction. Reads see its own writes and nothing that others commit meanwhile. */
export interface Transaction extends Tables, Pick<EngineTransaction, 'objects'> {}

/** Identifies an idempotent call (docs/interface.md, "Safe retries and caching"). */
export interface IdempotentCall {
  apiKeyId: string;
  idempotencyKey: string;
  /** Digest of the operation and its input. The same key with a different one is refused. */
  fingerprint: string;
  /** Milliseconds since 1970. */
  now: number;
  /** The time for which the outcome is kept, in milliseconds. */
  keepFor: number;
  /** `single` if its work makes at most one write, at its end. */
  how?: 'single' | undefined;
}

/** The outcome of an idempotent call, now or the first time. `value` is plain JSON data. */
export interface Outcome<T> {
  replayed: boolean;
  value: T;
}

/**
 * The store port: everything the gateway needs from a database, in domain terms. It consists of the rules of records
 * (`rules.ts`) over an engine (`engine.ts`): MongoDB (`store/mongo`) or embedded SQLite (`store/sqlite`).
 * `test/store/{model,contract}.test.ts` test both.
 *
 * Errors for clients are AppErrors, and `UNAVAILABLE` means that the database cannot be reached. If several apply to an
 * operation, it throws the first in this order, and nothing is written: existence (404), precondition (412),
 * references (422), conflicts (409).
 */
export interface Store
  extends
    Pick<Engine, 'engine' | 'isExclusive' | 'now' | 'lastIds' | 'objects' | 'filling' | 'ping' | 'close'>,
    Tables,
    ApiKeyStore,
    LimiterStore,
    UsageHistoryStore,
    RequestLogStore,
    DocumentStore,
    EventStore {
  /**
   * Runs `work` once per idempotency key. Its writes and its value are stored atomically, or neither if it throws.
   * `work` must read and write through its argument and do nothing else asynchronous. It may run several times.
   *
   * @throws IDEMPOTENCY_KEY_REUSED, CONFLICT while the first call is running, and whatever `work` throws
   */
  once<T>(call: IdempotentCall, work: (transaction: Transaction) => Promise<T>): Promise<Outcome<T>>;
  /**
   * Makes all writes of `work` atomically, or none if it throws. `work` must read and write through its argument and do
   * nothing else asynchronous. It may run several times.
   *
   * @param how `single` if `work` makes at most one write, at its end, which is cheaper. A second one throws
   * @throws what `work` throws
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, how?: 'single'): Promise<T>;
  /** The load of a process that reported this line as the next; undefined if none has done so for a day. */
  interruptedLoad(source: string, line: number): Promise<Load | undefined>;
  /** Begins to load a file, or takes over from another process. @returns the load with its progress so far */
  beginLoad(load: Omit<Load, 'expiresAt'>): Promise<Load>;
  /**
   * Commits a part of a load together with the progress it makes, like {@link Store.transaction}.
   *
   * @param alone true to see everything that other such transactions have committed: of two that meet, one runs again
   * @throws CONFLICT if another process has taken this load over
   */
  continueLoad<T>(load: Load, work: (transaction: Transaction) => Promise<T>, alone?: boolean): Promise<T>;
  /** Adds objects as they are, for an import. */
  addObjects<T>(kind: ObjectKind<T>, objects: readonly T[]): Promise<void>;
}
