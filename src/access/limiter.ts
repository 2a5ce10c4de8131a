import { lruCache } from '../foundation/cache.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import { DAY, MINUTE } from '../foundation/instant.ts';
import {
  banDuration,
  isBanned,
  openWindow,
  type Verdict,
  type ChargeResult,
  type LimiterStore,
  type Limits,
  strikesOf,
  toRetryAfter,
  type UsageState,
} from '../store/limiter-algorithm.ts';
import type { Principal } from './api-keys.ts';

/** One window of a budget, as shown to clients. */
export interface WindowView {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** The limiter's decision on one request. */
export interface Decision {
  verdict: Verdict;
  minute: WindowView;
  day: WindowView;
  /** The window that refused, or else the one with the smaller remainder. */
  tightest: WindowView;
  /** Whole seconds. Set for every verdict except `passed`. */
  retryAfter?: number;
  /** Set if this request began a ban: its start in milliseconds since 1970. */
  banBegan?: number;
}

/** The maximum number of cached keys. */
const MAX_CACHED = 20_000;

/**
 * Charges the budgets of API keys, atomically in the store. If the store cannot be reached, nothing passes. Bans and
 * exhausted windows are cached, because neither ends early on any instance.
 */
export class Limiter {
  readonly #blocked = lruCache<UsageState>(MAX_CACHED);

  /** @param cost in units; 0 only reads @throws UNAVAILABLE if the store cannot be reached */
  charge(store: LimiterStore, principal: Principal, cost: number, now: number): MaybePromise<Decision> {
    const { id, account, limits } = principal;
    const child = account === id ? undefined : id;
    return andThen(store.charge({ apiKeyId: account, child, limits, cost, now }), (result) => {
      const usage =
        child === undefined ? result.usage : { ...result.usage, ...strikesOf(result.usage, child, now) };
      const decision = toDecision({ ...result, usage }, limits, cost, now);
      if (decision.verdict === 'banned' || isExhausted(decision)) this.#blocked.set(id, usage);
      else this.#blocked.delete(id);
      return decision;
    });
  }

  /** Decides from the cache alone: `banned`, or `passed` with nothing left; undefined if only the store can tell. */
  cachedDecision({ id, limits }: Principal, now: number): Decision | undefined {
    const usage = this.#blocked.get(id);
    if (!usage) return undefined;
    const verdict = isBanned(usage, now) ? 'banned' : 'passed';
    const decision = toDecision({ verdict, usage }, limits, 0, now);
    if (verdict === 'banned' || isExhausted(decision)) return decision;
    this.#blocked.delete(id);
    return undefined;
  }
}

const isExhausted = ({ minute, day }: Decision): boolean => minute.remaining === 0 || day.remaining === 0;

/** Translates the state after a charge to the limiter's decision. */
function toDecision({ verdict, usage }: ChargeResult, limits: Limits, cost: number, now: number): Decision {
  const minute = windowView(usage.minuteStart, usage.minuteUsed, MINUTE, limits.perMinute, now);
  const day = windowView(usage.dayStart, usage.dayUsed, DAY, limits.perDay, now);
  const tightest = day.remaining < minute.remaining ? day : minute;
  const decision: Decision = { verdict, minute, day, tightest };
  if (verdict === 'passed') return decision;
  if (verdict === 'banned') {
    const length = banDuration(usage.bans);
    const retryAfter = toRetryAfter(Math.min(length, usage.bannedUntil - now));
    return { ...decision, retryAfter, ...(usage.bannedUntil === now + length && { banBegan: now }) };
  }
  // If both windows refuse, a retry passes only after the later one resets, which may be the minute.
  const refusing = [minute, day].filter(({ remaining }) => remaining < cost);
  const last = refusing.length === 2 && minute.resetAt > day.resetAt ? minute : refusing.at(-1)!;
  return { ...decision, tightest: last, retryAfter: toRetryAfter(last.resetAt - now) };
}

function windowView(
  startedAt: number,
  charged: number,
  length: number,
  limit: number,
  now: number,
): WindowView {
  const { start, used } = openWindow(startedAt, charged, length, now);
  return { limit, remaining: Math.max(0, limit - used), resetAt: start + length };
}
