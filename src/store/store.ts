import type { EventStore } from './events.ts';
import type { Tables } from './table.ts';
import type { WebhookStore, WebhookWrites } from './webhooks.ts';

/** What can be read and written. In a transaction, reads see its own writes and nothing that others commit meanwhile. */
export interface Transaction extends Tables {
  readonly webhookWrites: WebhookWrites;
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
  /** Whether its work makes several writes, or reads what they left. By default, it makes one. */
  several?: boolean;
}

/** The outcome of an idempotent call, now or the first time. `value` is plain JSON data. */
export interface Outcome<T> {
  replayed: boolean;
  value: T;
}

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

/** A key's limits in its two windows. */
export interface Limits {
  perMinute: number;
  perDay: number;
}

export interface ApiKey {
  id: string;
  name: string;
  plan: PlanName;
  /** The plan's limits at creation, or the key's own on Enterprise. */
  limits: Limits;
  /** Milliseconds since 1970. */
  createdAt: number;
  /** A development key is made by a server in development, and refused in production. */
  kind?: 'development';
  revokedAt?: number;
  /** From then on the key is not valid. Never if absent. */
  expiresAt?: number;
  /** What the key may do: `pets:read`, `orders:write`, `*:read`. Everything if absent. */
  scopes?: readonly string[];
  /** The networks it may be used from, in CIDR notation. Any if absent. */
  allow?: readonly string[];
  /** The list of documents it may run: `NAME`, or `report:NAME` to let others pass. Any if absent. */
  documents?: string;
  /** When the key was last used; a little behind. */
  lastUsedAt?: number;
  /** Usually one; two during the grace period after a rotation. */
  secrets: ApiKeySecret[];
}

/** Changes to a key. Absent properties stay as they are, and null clears. */
export interface ApiKeyChanges extends Partial<Pick<ApiKey, 'name' | 'plan' | 'limits'>> {
  expiresAt?: number | null;
  scopes?: readonly string[] | null;
  allow?: readonly string[] | null;
  documents?: string | null;
}

export interface ApiKeySecret {
  /** SHA-256 of the whole key, lower-case hex. */
  hash: string;
  /** The first characters of the key, for recognising it. */
  prefix: string;
  /** Milliseconds since 1970; never expires if absent. */
  expiresAt?: number;
}

/** The usage of one key, as the limiter maintains it (`store/usage.ts`). Times are milliseconds since 1970. */
export interface UsageState {
  minuteStart: number;
  minuteUsed: number;
  dayStart: number;
  dayUsed: number;
  /** End of the latest Retry-After given with a refusal; 0 if none. */
  refusedUntil: number;
  /** Times of the strikes that still count, oldest first. */
  strikes: number[];
  /** 0 if never banned. */
  bannedUntil: number;
  /** Consecutive bans, for doubling their duration. */
  bans: number;
}

export interface Charge {
  apiKeyId: string;
  limits: Limits;
  /** Units; 0 only reads. */
  cost: number;
  /** Milliseconds since 1970. */
  now: number;
}

export type ChargeOutcome = 'passed' | 'refused' | 'banned';

export interface ChargeResult {
  outcome: ChargeOutcome;
  /** The state after the charge. */
  usage: UsageState;
}

export const USAGE_TRANSPORTS = ['rest', 'graphql', 'stream', 'webhook', 'mcp'] as const;
export type UsageTransport = (typeof USAGE_TRANSPORTS)[number];

/** What a key did by one operation over one transport. */
export interface UsageOperation {
  /** The GraphQL root field, over any transport. */
  operation: string;
  transport: UsageTransport;
  /** Requests that passed. */
  requests: number;
  /** Units charged. */
  units: number;
  /** Requests refused by the plan. */
  refused: number;
}

/** What a key did on one day. */
export interface UsageDay {
  /** In UTC: `2026-11-22`. */
  date: string;
  operations: readonly UsageOperation[];
}

/** What a key did on a day by one operation over one transport. */
export interface UsageRow extends UsageOperation {
  apiKeyId: string;
  date: string;
}

/** What keys did in the past. Days are kept for a quarter of a year (`access/usage-history.ts`). */
export interface UsageHistoryStore {
  /**
   * Adds counts to the days of keys, each day atomically.
   *
   * @param uses moves their `lastUsedAt` forwards, in milliseconds since 1970
   */
  addUsage(rows: readonly UsageRow[], uses: Readonly<Record<string, number>>): Promise<void>;
  /** The days of a key with use, oldest first. Both dates are included. */
  usageDays(apiKeyId: string, from: string, to: string): Promise<UsageDay[]>;
}

/** A GraphQL document that keys can be bound to. */
export interface TrustedDocument {
  list: string;
  /** Unique in its list. */
  id: string;
  /** SHA-256 of the text, lower-case hex. */
  hash: string;
  text: string;
  /** Milliseconds since 1970. */
  addedAt: number;
  /** A little behind. */
  lastUsedAt?: number;
}

/** Lists of GraphQL documents. A list exists as long as it has a document. */
export interface DocumentStore {
  /** @param list any if undefined */
  documentByHash(list: string | undefined, hash: string): Promise<TrustedDocument | null>;
  documentById(list: string, id: string): Promise<TrustedDocument | null>;
  /** All documents by list and id, or those of one list. */
  documents(list?: string): Promise<TrustedDocument[]>;
  /** Adds documents, all or none. Those that are there already stay as they are. */
  addDocuments(documents: readonly TrustedDocument[]): Promise<void>;
  removeDocuments(list: string, ids: readonly string[]): Promise<void>;
  /** Moves `lastUsedAt` forwards. */
  touchDocuments(
    uses: readonly (Pick<TrustedDocument, 'list' | 'id'> & { lastUsedAt: number })[],
  ): Promise<void>;
}

export interface ApiKeyStore {
  /** The key with this secret, even if revoked or expired; null if there is none. */
  apiKeyBySecretHash(hash: string): Promise<ApiKey | null>;
  createApiKey(key: ApiKey): Promise<void>;
  /** The key with this id, even if revoked or expired; null if there is none. */
  apiKeyById(id: string): Promise<ApiKey | null>;
  /** All keys, oldest first. */
  apiKeys(): Promise<ApiKey[]>;
  /** Changes a key; null if it does not exist or is revoked. */
  updateApiKey(id: string, changes: ApiKeyChanges): Promise<ApiKey | null>;
  /** Revokes the key if it is not already; null if it does not exist. */
  revokeApiKey(id: string, now: number): Promise<ApiKey | null>;
  /**
   * Adds a secret and makes the others expire no later than `othersExpireAt`; null if the key does not exist or is
   * revoked.
   */
  rotateApiKey(id: string, secret: ApiKeySecret, othersExpireAt: number): Promise<ApiKey | null>;
}

/** The limiter's usage of keys. */
export interface LimiterStore {
  /** Charges both windows of a key atomically, or neither (rules in `store/usage.ts`). */
  charge(charge: Charge): Promise<ChargeResult>;
  /** The last stored usage of each key; null if there is none yet. */
  usage(apiKeyIds: readonly string[]): Promise<(UsageState | null)[]>;
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
  extends Transaction,
    ApiKeyStore,
    LimiterStore,
    UsageHistoryStore,
    DocumentStore,
    EventStore,
    WebhookStore {
  readonly engine: 'sqlite' | 'mongodb';
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
   * @throws what `work` throws
   */
  transaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** @throws UNAVAILABLE if the database does not respond or cannot be written */
  ping(): Promise<void>;
  close(): Promise<void>;
}
