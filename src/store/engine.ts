import type { Id } from '../foundation/id.ts';
import type { AnyRecord } from '../foundation/record.ts';
import type { EventStore } from './events.ts';
import type { AccessStore, IdempotentCall } from './store.ts';
import type { TableReads } from './table.ts';
import type { Webhook, WebhookStore } from './webhooks.ts';

/** Values of some fields, by field. */
export type Values = Readonly<Record<string, unknown>>;

/** A record as an engine keeps it: values in their canonical form, absent ones left out. */
export type Stored = { readonly id: Id } & Values;

/**
 * The records of one kind within a transaction. Reads see what the transaction has written. Nothing here knows a rule:
 * those stand once above both engines (`rules.ts`).
 */
export interface Rows extends TableReads<AnyRecord> {
  /** Whether there is a record with all these values, apart from the one with this id. */
  exists(values: Values, except?: Id): Promise<boolean>;
  /**
   * Locks a record until the transaction ends: `shared`, so that nobody else deletes it, or `alone`, so that nobody
   * else locks it at all. Where transactions exclude one another there is nothing to do.
   *
   * @returns whether there is such a record
   */
  lock(id: Id, how?: 'shared' | 'alone'): Promise<boolean>;
  /**
   * An id that no record has at this moment, and that was never assigned before.
   *
   * @throws CONFLICT if there is none left
   */
  nextId(): Promise<Id>;
  insert(record: Stored): Promise<void>;
  /** @param before the record as it was read in this transaction */
  replace(before: Stored, after: Stored): Promise<void>;
  /** @param record as it was read in this transaction */
  delete(record: Stored): Promise<void>;
}

/** The webhooks within a transaction. */
export interface WebhookRows {
  /** How many a key has. Nobody else adds one to them until the transaction ends. */
  count(apiKeyId: string): Promise<number>;
  find(apiKeyId: string, id: string): Promise<Webhook | null>;
  insert(webhook: Webhook): Promise<void>;
  /** @param before as it was read in this transaction @param after has the same progress, or replaces it */
  replace(before: Webhook, after: Webhook): Promise<void>;
  /** @param webhook as it was read in this transaction */
  delete(webhook: Webhook): Promise<void>;
}

/** A call that was answered before. */
export interface KeptOutcome {
  fingerprint: string;
  /** JSON. */
  value: string;
}

/** What the work of a transaction uses. Of no use once the work has ended. */
export interface EngineTransaction {
  rows(record: AnyRecord): Rows;
  readonly webhooks: WebhookRows;
  /** The kept outcome of an idempotent call that has not expired. */
  outcome(call: IdempotentCall): Promise<KeptOutcome | null>;
  /** Keeps the outcome of a call until it expires, instead of an expired one. @param value JSON */
  keepOutcome(call: IdempotentCall, value: string): Promise<void>;
}

/**
 * What a database has to do for the store: rows, transactions, ids and a feed of what changed, and the keys, usage,
 * documents and webhooks. Each change of a record is one event (`eventOf`), in the order of commitment.
 */
export interface Engine extends AccessStore, EventStore, WebhookStore {
  readonly engine: 'sqlite' | 'mongodb';
  /** The records of one kind as they are committed. */
  reads(record: AnyRecord): TableReads<AnyRecord>;
  /**
   * Commits all that `work` writes, or nothing if it throws. What it has read to decide is unchanged at the commit:
   * otherwise the engine takes it back and runs it again, also if an id or a unique combination was taken meanwhile.
   *
   * @param several whether `work` makes several writes, or reads what they left; by default it makes one, at its end
   * @throws what `work` throws, UNAVAILABLE
   */
  transaction<T>(work: (transaction: EngineTransaction) => Promise<T>, several?: boolean): Promise<T>;
  /** @throws UNAVAILABLE if the database does not respond or cannot be written */
  ping(): Promise<void>;
  close(): Promise<void>;
}
