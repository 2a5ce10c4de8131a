import type { ApiKey, MaybePromise, Store } from '../store/store.ts';
import type { Loaders } from './loaders.ts';

/** The caller whose key was accepted. */
export type Principal = Pick<ApiKey, 'id' | 'name' | 'plan' | 'limits'>;

/** One window of the caller's budget, as the `rateLimit` query shows it. */
export interface WindowView {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

export interface RateLimitView {
  /** Units that the operation was charged. */
  cost: number;
  plan: ApiKey['plan'];
  minute: WindowView;
  day: WindowView;
}

/** Throws PRECONDITION_FAILED unless the REST representation of `record`, of this GraphQL type, is the one that If-Match names. */
export type Precondition = (type: string, record: object) => void;

/** The idempotency of one request (contract section 7). */
export interface Idempotency {
  /** The key of the next write: the header's own for the first, derived from it for the others. */
  nextKey(): string;
  /** Told when an outcome is one of an earlier call. */
  onReplay(): void;
}

/** Checks the burst guard; throws RATE_LIMITED. */
export type BurstGuard = (principal: Principal, info: { fieldName: string }) => MaybePromise<void>;

/** What resolvers know of a call: who makes it and the store. Nothing of HTTP. */
export interface Context {
  principal: Principal;
  store: Store;
  /** Replaced after each write, so that what is read next is read anew. */
  loaders: Loaders;
  now: () => number;
  guardBurst: BurstGuard;
  rateLimit: () => RateLimitView;
  precondition?: Precondition | undefined;
  idempotency?: Idempotency | undefined;
}
