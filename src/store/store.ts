import type { ApiKeyStore, ApiKeyWrites } from './api-keys.ts';
import type { Engine } from './engine.ts';
import type { EventStore } from './events.ts';
import type { Load } from './loads.ts';
import type { ObjectKind } from './objects.ts';
import type { RequestLogStore } from './request-log.ts';
import type { Tables } from '../foundation/table.ts';
import type { DocumentStore } from './trusted-documents.ts';
import type { LimiterStore } from './usage.ts';
import type { UsageHistoryStore } from './usage-history.ts';
import type { WebhookStore, WebhookWrites } from './webhooks.ts';

/** What can be read and written. In a transaction, reads see its own writes and nothing that others commit meanwhile. */
export interface Transaction extends Tables {
  readonly webhookWrites: WebhookWrites;
  readonly apiKeyWrites: ApiKeyWrites;
}

/** Identifies an idempotent call (docs/interface.md, "Safe retries and caching"). */
export interface IdempotentCall {
  apiKeyId: string;
  idempotencyKey: string;
  /** Digest of the operation and its input. The same key with another one is refused. */
  fingerprint: string;
  /** Milliseconds since 1970. */
  now: number;
  /** How long the outcome is kept, in milliseconds. */
  keepFor: number;
  /** `single` if its work makes one write at most, at its end. */
  how?: 'single' | undefined;
}

/** The outcome of an idempotent call, now or the first time. `value` is plain JSON data. */
export interface Outcome<T> {
  replayed: boolean;
  value: T;
}

/**
 * The store port: what the gateway needs of a database, in domain terms. It is the rules of a record (`rules.ts`) over
 * an engine (`engine.ts`): MongoDB (`store/mongo`) or embedded SQLite (`store/sqlite`).
 * `test/store/{model,contract}.test.ts` test both.
 *
 * Errors for clients are AppErrors, and `UNAVAILABLE` means that the database cannot be reached. If an operation has
 * several errors, it has the first in this order and nothing is written: existence (404), precondition (412),
 * references (422), conflicts (409).
 */
export interface Store
  extends
    Pick<Engine, 'engine' | 'lastIds' | 'objects' | 'filling' | 'ping' | 'close'>,
    Transaction,
    ApiKeyStore,
    LimiterStore,
    UsageHistoryStore,
    RequestLogStore,
    DocumentStore,
    EventStore,
    WebhookStore {
  /**
   * Runs `work` once per idempotency key. Its writes and its value are stored atomically; if it throws, neither is.
   * `work` must read and write through its argument and do nothing else asynchronous. It may run several times.
   *
   * @throws IDEMPOTENCY_KEY_REUSED, CONFLICT while the first call is running, and whatever else `work` throws
   */
  once<T>(call: IdempotentCall, work: (transaction: Transaction) => Promise<T>): Promise<Outcome<T>>;
  /**
   * Makes all writes of `work` atomically, or none if it throws. `work` must read and write through its argument and do
   * nothing else asynchronous. It may run several times.
   *
   * @param how `single` if `work` makes one write at most, at its end, which is cheaper. A second one throws
   * @throws what `work` throws
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>, how?: 'single'): Promise<T>;
  /** How far a process loaded a file that told that this line is next; undefined if none has done so for a day. */
  interruptedLoad(source: string, line: number): Promise<Load | undefined>;
  /** Begins to load a file, or takes over from another process. @returns how far it is loaded */
  beginLoad(load: Omit<Load, 'expiresAt'>): Promise<Load>;
  /**
   * Commits a part of a load together with how far the file is loaded then, as {@link Store.transaction}.
   *
   * @param alone whether it sees what all others that are so have committed: of two that meet, one runs again
   * @throws CONFLICT if another process goes on with this load
   */
  continueLoad<T>(load: Load, work: (transaction: Transaction) => Promise<T>, alone?: boolean): Promise<T>;
  /** Adds objects as they are, for an import. */
  addObjects<T>(kind: ObjectKind<T>, objects: readonly T[]): Promise<void>;
}
