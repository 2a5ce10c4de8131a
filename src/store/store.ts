import type { ApiKeyStore } from './stored-api-keys.ts';
import type { Engine, EngineTransaction } from './engine.ts';
import type { EventStore } from './events.ts';
import type { Load, LoadPosition } from './loads.ts';
import type { ObjectKind } from './objects.ts';
import type { RequestLogStore } from './stored-request-log.ts';
import type { Tables } from '../foundation/table.ts';
import type { DocumentStore } from './trusted-documents.ts';
import type { LimiterStore } from './limiter-algorithm.ts';
import type { UsageHistoryStore } from './stored-usage-history.ts';

/** The reads and writes of a transaction. Reads see its own writes, and nothing that others commit meanwhile. */
export interface Transaction extends Tables, Pick<EngineTransaction, 'objects'> {}

/** Identifies an idempotent call (docs/interface.md, "Safe retries and caching"). */
export interface IdempotentCall {
  apiKeyId: string;
  idempotencyKey: string;
  /** The digest of the operation and its input. A reused key with another digest is refused. */
  fingerprint: string;
  /** Milliseconds since 1970. */
  now: number;
  /** How long the outcome is kept, in milliseconds. */
  keepFor: number;
  /** `single` if the work makes at most one write, at its end. */
  how?: 'single' | undefined;
}

/** The outcome of an idempotent call, now or the first time. `value` is plain JSON data. */
export interface Outcome<T> {
  replayed: boolean;
  value: T;
}

/**
 * The store port: everything the gateway needs from a database, in domain terms. The rules of records (`rules.ts`) are
 * the same over both engines (`engine.ts`): MongoDB (`store/mongo`) and embedded SQLite (`store/sqlite`).
 *
 * Errors for clients are AppErrors. `UNAVAILABLE` means that the database cannot be reached. If several errors apply,
 * an operation throws the first in this order and writes nothing: existence (404), precondition (412), references
 * (422), conflicts (409).
 */
export interface Store
  extends
    Pick<
      Engine,
      | 'engine'
      | 'isExclusive'
      | 'requestJournal'
      | 'now'
      | 'lastIds'
      | 'objects'
      | 'filling'
      | 'ping'
      | 'close'
    >,
    Tables,
    ApiKeyStore,
    LimiterStore,
    UsageHistoryStore,
    RequestLogStore,
    DocumentStore,
    EventStore {
  /**
   * Runs `work` once per idempotency key. Stores its writes and its value atomically, or neither if it throws. `work`
   * must read and write through its argument, do nothing else asynchronous, and may run several times.
   *
   * @throws IDEMPOTENCY_KEY_REUSED, CONFLICT while the first call is running, and whatever `work` throws
   */
  once<T>(call: IdempotentCall, work: (transaction: Transaction) => Promise<T>): Promise<Outcome<T>>;
  /**
   * Commits all writes of `work` atomically, or none if it throws. `work` must read and write through its argument, do
   * nothing else asynchronous, and may run several times.
   *
   * @param how `single` if `work` makes at most one write, at its end, which is cheaper. A second write throws
   * @throws what `work` throws
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, how?: 'single'): Promise<T>;
  /** The load of a killed process that had reported this line as the next; undefined after a day without progress. */
  interruptedLoad(source: string, line: number): Promise<Load | undefined>;
  /** Begins a load, or takes it over from another process. @returns the load with its progress so far */
  beginLoad(load: Omit<Load, 'expiresAt'>): Promise<Load>;
  /**
   * Commits part of a load together with the progress that `work` returns, like {@link Store.transaction}.
   *
   * @param alone true to serialise it with other such transactions: of two concurrent ones, one runs again
   * @throws CONFLICT if another process has taken over the load
   */
  continueLoad<T extends LoadPosition>(
    load: Load,
    work: (transaction: Transaction) => Promise<T>,
    alone?: boolean,
  ): Promise<T>;
  /** Adds objects as they are, for an import. */
  addObjects<T>(kind: ObjectKind<T>, objects: readonly T[]): Promise<void>;
}
