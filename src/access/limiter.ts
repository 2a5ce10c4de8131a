import { andThen } from '../maybe-promise.ts';
import type {
  AccessStore,
  ChargeOutcome,
  ChargeResult,
  Limits,
  MaybePromise,
  UsageState,
} from '../store/store.ts';
import type { Principal } from './api-keys.ts';
import { banLength, DAY, MINUTE, wholeSeconds } from './usage.ts';

/** One window of a budget, as clients are shown it. */
export interface WindowView {
  limit: number;
  remaining: number;
  /** Milliseconds since 1970. */
  resetAt: number;
}

/** What the limiter says of one request. */
export interface Verdict {
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

/**
 * Charges the budget of an API key. One atomic write a request; when the store can't tell, nothing passes.
 *
 * @param cost units of contract section 5; 0 only asks
 * @param now milliseconds since 1970
 * @throws UNAVAILABLE when the store doesn't answer
 */
export function charge(
  store: AccessStore,
  { id: apiKeyId, limits }: Principal,
  cost: number,
  now: number,
): MaybePromise<Verdict> {
  return andThen(store.charge({ apiKeyId, limits, cost, now }), (result) =>
    verdictOf(result, limits, cost, now),
  );
}

/** Puts the state after a charge into the words of the response headers. */
export function verdictOf(
  { outcome, usage }: ChargeResult,
  limits: Limits,
  cost: number,
  now: number,
): Verdict {
  const minute = windowView(usage.minuteStart, usage.minuteUsed, MINUTE, limits.perMinute, now);
  const day = windowView(usage.dayStart, usage.dayUsed, DAY, limits.perDay, now);
  if (outcome === 'passed') return { outcome, minute, day, tightest: smaller(minute, day) };
  if (outcome === 'banned') {
    return {
      outcome,
      minute,
      day,
      tightest: smaller(minute, day),
      retryAfter: wholeSeconds(usage.bannedUntil - now),
      ...(usage.bannedUntil === now + banLength(usage.bans) && { banBegan: now }),
    };
  }
  // Where both windows refuse, the one that ends later decides when a retry can pass; that may be the minute.
  const refusing = [minute, day].filter(({ remaining }) => remaining < cost);
  const tightest = refusing.length === 2 && minute.resetAt > day.resetAt ? minute : refusing.at(-1)!;
  return { outcome, minute, day, tightest, retryAfter: wholeSeconds(tightest.resetAt - now) };
}

function windowView(start: number, used: number, length: number, limit: number, now: number): WindowView {
  if (now >= start + length) return { limit, remaining: limit, resetAt: now + length };
  return { limit, remaining: Math.max(0, limit - used), resetAt: start + length };
}

const smaller = (minute: WindowView, day: WindowView): WindowView =>
  day.remaining < minute.remaining ? day : minute;

/** Used by lists of keys: what a state still counts today. */
export const usedToday = (usage: UsageState | null, now: number): number =>
  usage && now < usage.dayStart + DAY ? usage.dayUsed : 0;
