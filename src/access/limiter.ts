import { LRUCache } from 'lru-cache';
import { andThen, type MaybePromise } from '../maybe-promise.ts';
import type { AccessStore, ChargeOutcome, ChargeResult, Limits, UsageState } from '../store/store.ts';
import type { Principal } from './api-keys.ts';
import { banDuration, DAY, MINUTE, rewindTo, toRetryAfter } from './usage.ts';

/** One window of a budget, as clients are shown it. */
export interface WindowView {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** What the limiter decided on one request. */
export interface Decision {
  outcome: ChargeOutcome;
  minute: WindowView;
  day: WindowView;
  /** The window that a client must mind most: the smaller remainder, or the one that refused. */
  tightest: WindowView;
  /** Whole seconds; with every outcome but `passed`. */
  retryAfter?: number;
  /** The moment, milliseconds since 1970, if a ban began with this very request. */
  banBegan?: number;
}

/** So many keys that are banned or have nothing left are remembered, those that asked last. */
const MAX_CACHED = 20_000;

/**
 * Charges the budgets of API keys. One atomic write a request; when the store can't tell, nothing passes. Bans and
 * emptied windows are remembered: neither can end before its time, whichever instance they were found by.
 */
export class Limiter {
  readonly #blocked = new LRUCache<string, UsageState>({ max: MAX_CACHED });

  /**
   * @param cost in units; 0 only asks
   * @param now milliseconds since 1970
   * @throws UNAVAILABLE when the store doesn't answer
   */
  charge(
    store: AccessStore,
    { id: apiKeyId, limits }: Principal,
    cost: number,
    now: number,
  ): MaybePromise<Decision> {
    return andThen(store.charge({ apiKeyId, limits, cost, now }), (result) => {
      const decision = toDecision(result, limits, cost, now);
      if (decision.outcome === 'banned' || isExhausted(decision)) this.#blocked.set(apiKeyId, result.usage);
      else if (this.#blocked.size > 0) this.#blocked.delete(apiKeyId);
      return decision;
    });
  }

  /**
   * What is known of a key without asking the store.
   *
   * @returns `banned`, or `passed` with nothing left; undefined if it may have something left
   */
  cachedDecision({ id, limits }: Principal, now: number): Decision | undefined {
    const usage = this.#blocked.size > 0 ? this.#blocked.get(id) : undefined;
    if (!usage) return undefined;
    const outcome = usage.bannedUntil > now ? 'banned' : 'passed';
    const decision = toDecision({ outcome, usage }, limits, 0, now);
    // After the clock was set back, only the store can tell.
    if (rewindTo(now, usage) === usage && (outcome === 'banned' || isExhausted(decision))) return decision;
    this.#blocked.delete(id);
    return undefined;
  }
}

const isExhausted = ({ minute, day }: Decision): boolean => minute.remaining === 0 || day.remaining === 0;

/** Puts the state after a charge into the words of the response headers. */
export function toDecision(
  { outcome, usage: stored }: ChargeResult,
  limits: Limits,
  cost: number,
  now: number,
): Decision {
  const usage = rewindTo(now, stored);
  const minute = windowView(usage.minuteStart, usage.minuteUsed, MINUTE, limits.perMinute, now);
  const day = windowView(usage.dayStart, usage.dayUsed, DAY, limits.perDay, now);
  if (outcome === 'passed') return { outcome, minute, day, tightest: smaller(minute, day) };
  if (outcome === 'banned') {
    const length = banDuration(usage.bans);
    return {
      outcome,
      minute,
      day,
      tightest: smaller(minute, day),
      retryAfter: toRetryAfter(Math.min(length, usage.bannedUntil - now)),
      ...(usage.bannedUntil === now + length && { banBegan: now }),
    };
  }
  // Where both windows refuse, the one that ends later decides when a retry can pass; that may be the minute.
  const refusing = [minute, day].filter(({ remaining }) => remaining < cost);
  const tightest = refusing.length === 2 && minute.resetAt > day.resetAt ? minute : refusing.at(-1)!;
  return { outcome, minute, day, tightest, retryAfter: toRetryAfter(tightest.resetAt - now) };
}

/** A window that is said to open a moment from now, by another clock, ends as if it opened now. */
function windowView(start: number, used: number, length: number, limit: number, now: number): WindowView {
  if (now >= start + length) return { limit, remaining: limit, resetAt: now + length };
  return { limit, remaining: Math.max(0, limit - used), resetAt: Math.min(now, start) + length };
}

const smaller = (minute: WindowView, day: WindowView): WindowView =>
  day.remaining < minute.remaining ? day : minute;

/** Used by lists of keys: what a state still counts today. */
export const usedToday = (usage: UsageState | null, now: number): number =>
  usage && now < usage.dayStart + DAY ? usage.dayUsed : 0;
