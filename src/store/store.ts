import type { Id } from '../domains/id.ts';
import type { PublicError } from '../errors.ts';
import type { MaybePromise } from '../maybe-promise.ts';
import type { EventStore } from './events.ts';

/**
 * One page of a list that is ordered by id, ascending. Both bounds are exclusive (`after` may be "0"). `backward` takes the last
 * `limit` items of the range instead of the first; the items still come in ascending order.
 */
export interface PageRequest {
  /** 0..100; 0 only asks whether there is anything. */
  limit: number;
  after?: Id | undefined;
  before?: Id | undefined;
  backward?: boolean | undefined;
}

export interface Page<T> {
  items: T[];
  /** Whether the range holds more items beyond this page, in the direction of the request. */
  hasMore: boolean;
}

/** Called with the record as it is, atomically with the write that follows; throws to prevent the write. */
export type Check<T> = (current: T) => void;

/**
 * What is read of the records. Each domain adds its own to it, beside its record (`src/domains/pet/pet.ts`), in these forms:
 *
 * - `petsById(ids)`: the records in the order of the ids, null where there is none;
 * - `peekPet(id)`, where an engine has it: the record if the engine knows it without asking the database; undefined says
 *   nothing about it;
 * - `petPage(filter, page)`, and `petCount(filter)` of all pages;
 * - `petPagesByCategory(ids, filter, page)` and `petCountsByCategory(ids, filter)`: one for each parent, in the order of the
 *   parents, with at most one command to the database.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the domains fill it
export interface PetstoreReads {}

/**
 * What is written, filled by the domains as well. Each write is atomic, and its rules hold under concurrent writers. One that
 * changes something appends one event to the log (`EventStore`); one that leaves the record as it is writes nothing.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the domains fill it
export interface PetstoreWrites {}

/** The identity of an idempotent call (docs/interface.md, "Safe retries and caching"). */
export interface IdempotentCall {
  apiKeyId: string;
  idempotencyKey: string;
  /** Digest of the operation and its input; another one under the same key is refused. */
  fingerprint: string;
  /** Milliseconds since 1970. */
  now: number;
  /** How long the outcome is kept, in milliseconds. */
  keepFor: number;
}

/** A refusal as it is kept. */
export interface StoredError extends PublicError {
  /** Which field of several was refused, counted from 0. */
  at?: number;
}

/** What an idempotent call came to, now or the first time. `value` is plain JSON data. */
export type Outcome<T> = { replayed: boolean } & (
  | { value: T; error?: undefined }
  | { error: StoredError; value?: undefined }
);

export const PLAN_NAMES = ['free', 'pro', 'business', 'enterprise'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

/** How much a key may use in its two windows. */
export interface Limits {
  perMinute: number;
  perDay: number;
}

export interface ApiKey {
  id: string;
  name: string;
  plan: PlanName;
  /** The plan's numbers, or the key's own on Enterprise, as they were when the key was made. */
  limits: Limits;
  /** Milliseconds since 1970. */
  createdAt: number;
  revokedAt?: number;
  /** Usually one; two while a rotated secret is still in its grace time. */
  secrets: ApiKeySecret[];
}

export interface ApiKeySecret {
  /** SHA-256 of the whole key, lower-case hex. */
  hash: string;
  /** The first characters of the key, to recognise it by. */
  prefix: string;
  /** Milliseconds since 1970; missing: never. */
  expiresAt?: number;
}

/** The use of one key, as the limiter keeps it (`access/usage.ts`). Times are milliseconds since 1970. */
export interface UsageState {
  minuteStart: number;
  minuteUsed: number;
  dayStart: number;
  dayUsed: number;
  /** End of the latest Retry-After that was given with a refusal; 0: none. */
  refusedUntil: number;
  /** Times of the strikes that still count, oldest first. */
  strikes: number[];
  /** 0: never banned. */
  bannedUntil: number;
  /** How many bans in a row, for the doubling. */
  bans: number;
}

export interface Charge {
  apiKeyId: string;
  limits: Limits;
  /** Units; 0 changes nothing and only asks. */
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

export interface AccessStore {
  /** The key that has this secret, revoked and expired ones included; null if none. */
  apiKeyBySecretHash(hash: string): MaybePromise<ApiKey | null>;
  createApiKey(key: ApiKey): MaybePromise<void>;
  /** All keys, oldest first. */
  apiKeys(): MaybePromise<ApiKey[]>;
  /** Marks the key as revoked, once; null if there is no such key. */
  revokeApiKey(id: string, now: number): MaybePromise<ApiKey | null>;
  /** Adds a secret and lets the others expire at `othersExpireAt` at the latest; null if there is no such key that isn't revoked. */
  rotateApiKey(id: string, secret: ApiKeySecret, othersExpireAt: number): MaybePromise<ApiKey | null>;
  /** Charges the key's two windows, atomically: both or neither (`access/usage.ts` has the rules). */
  charge(charge: Charge): MaybePromise<ChargeResult>;
  /** The use of each of these keys as last stored; null where there is none yet. */
  usage(apiKeyIds: readonly string[]): MaybePromise<(UsageState | null)[]>;
}

/**
 * The store port: what the gateway needs of a database, in the domain's own words. Two engines implement it,
 * MongoDB (`store/mongo`) and embedded SQLite (`store/sqlite`); `test/store/contract.test.ts` holds both to it.
 *
 * Every method may answer at once (the embedded engine does) or with a promise. Errors that a client may be
 * told are thrown as AppError; a database that can't be reached is `UNAVAILABLE`; in an operation with several
 * errors the first of existence (404), precondition (412), references (422), conflicts (409) is thrown, and
 * nothing is written.
 */
export interface Store extends PetstoreReads, PetstoreWrites, AccessStore, EventStore {
  readonly engine: 'sqlite' | 'mongodb';
  /**
   * Runs `work` once per idempotency key: its writes and its outcome (a value or an AppError below 500) are kept
   * together or not at all. `work` must write through the argument it gets, and do nothing else asynchronous.
   * @throws IDEMPOTENCY_KEY_REUSED, CONFLICT while the first call is still running; whatever else `work` throws
   */
  once<T>(call: IdempotentCall, work: (writes: PetstoreWrites) => MaybePromise<T>): MaybePromise<Outcome<T>>;
  /** Whether several writes can be made together or not at all: not on a standalone MongoDB. */
  hasTransactions(): MaybePromise<boolean>;
  /**
   * Makes all writes of `work` or, if it throws, none. `work` must write through the argument it gets, and do nothing else
   * asynchronous; it may be run several times.
   * @throws what `work` throws
   */
  transaction<T>(work: (writes: PetstoreWrites) => MaybePromise<T>): MaybePromise<T>;
  /** @throws UNAVAILABLE when the database does not answer */
  ping(): MaybePromise<void>;
  close(): MaybePromise<void>;
}
