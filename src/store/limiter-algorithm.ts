import { DAY, MINUTE } from '../foundation/instant.ts';
import type { MaybePromise } from '../foundation/turns.ts';

/*
 * The path of a charge, top-down:
 *
 * 1. A session (`access/session.ts`) charges units, before or after it knows the price of a request.
 * 2. The limiter (`access/limiter.ts`) refuses banned keys from memory, and charges the store for all others: even exhausted
 *    ones, so that their refusals count as strikes.
 * 3. The store keeps a `UsageState` for each owner's key, and replaces it by the result of `chargeUsage`: in memory, saved
 *    at once or soon (`sqlite/usage.ts`), or by an update on condition that it has not changed meanwhile
 *    (`mongo/usage.ts`).
 * 4. The limiter translates the verdict and the new state to a decision, for headers and errors.
 *
 *     opened at its first request        closed
 *     |-- window: used <= limit ---------|            a refusal sets refusedUntil = the end of its Retry-After
 *                    |== refusedUntil ===|            a refusal before it is a strike
 *                      x x x … 20 in 10 min           the 20th begins a ban: 1 min, doubled each time, up to a day
 */

/** A key's limits in its two windows. */
export interface Limits {
  perMinute: number;
  perDay: number;
}

/** The strikes and bans of a key. Times are milliseconds since 1970. */
export interface Strikes {
  /** The end of the latest Retry-After sent with a refusal; 0 if none. */
  refusedUntil: number;
  /** Times of the strikes that still count, oldest first. */
  strikes: number[];
  /** The end of the latest ban; 0 if never banned. */
  bannedUntil: number;
  /** The number of consecutive bans, each twice as long as the one before. */
  bans: number;
}

/** The usage of an owner's key, as the limiter maintains it. Times are milliseconds since 1970. */
export interface UsageState extends Strikes {
  minuteStart: number;
  minuteUsed: number;
  dayStart: number;
  dayUsed: number;
  /** The strikes of recently refused children, which share the key's windows but not its strikes. */
  children?: Readonly<Record<string, Strikes>>;
}

export interface Charge {
  /** The key whose windows are charged. */
  apiKeyId: string;
  /** The child that the charge is for. */
  child?: string | undefined;
  limits: Limits;
  /** Units; 0 only reads. */
  cost: number;
  /** Milliseconds since 1970. */
  now: number;
}

export type Verdict = 'passed' | 'refused' | 'banned';

export interface ChargeResult {
  verdict: Verdict;
  /** The state after the charge. */
  usage: UsageState;
}

/** The limiter's usage of keys. */
export interface LimiterStore {
  /** Charges both windows of a key atomically, or neither, as `chargeUsage` does. */
  charge(charge: Charge): MaybePromise<ChargeResult>;
  /** The last stored usage of each key; null if it has none yet. */
  usage(apiKeyIds: readonly string[]): Promise<(UsageState | null)[]>;
}

/** The number of strikes within {@link STRIKE_WINDOW} that begins a ban. */
export const STRIKES_TO_BAN = 20;
/** How long a strike counts, in milliseconds. */
export const STRIKE_WINDOW = 10 * MINUTE;
/** The duration of the first and of the longest ban, in milliseconds. */
const FIRST_BAN = MINUTE;
const MAX_BAN = DAY;

const NO_STRIKES: Strikes = { refusedUntil: 0, strikes: [], bannedUntil: 0, bans: 0 };

/** The state of a key that has never been used. */
export const initialUsage = (): UsageState => ({
  minuteStart: 0,
  minuteUsed: 0,
  dayStart: 0,
  dayUsed: 0,
  ...NO_STRIKES,
});

/** True during a ban. One that has more than its length to go, and a minute, is over: the clock has been set back. */
export const isBanned = ({ bannedUntil, bans }: Strikes, now: number): boolean =>
  bannedUntil > now && bannedUntil <= now + banDuration(bans) + MINUTE;

/** The strikes that count for a key: the owner's while it is banned, else the child's own, if it is one. */
export const strikesOf = (usage: UsageState, child: string | undefined, now: number): Strikes =>
  child === undefined || isBanned(usage, now) ? usage : (usage.children?.[child] ?? NO_STRIKES);

/** Sets the strikes of a key, and drops those of other children that no longer count. */
function withStrikes(
  usage: UsageState,
  strikes: Strikes,
  { child, now }: Pick<Charge, 'child' | 'now'>,
): UsageState {
  if (child === undefined) return { ...usage, ...strikes };
  const others = Object.entries(usage.children ?? {}).filter(
    ([, { refusedUntil, bannedUntil }]) => refusedUntil + STRIKE_WINDOW > now || bannedUntil + DAY > now,
  );
  return { ...usage, children: { ...Object.fromEntries(others), [child]: strikes } };
}

/**
 * Applies one charge. A window opens at its first request. Both windows are charged, or neither. A refusal during the
 * Retry-After of an earlier one is a strike, and the 20th strike in 10 minutes bans.
 *
 * @param before the key's state; not modified
 * @returns the decision and the resulting state
 */
export function chargeUsage(before: UsageState, charge: Charge): ChargeResult {
  const { child, cost, limits, now } = charge;
  const own = strikesOf(before, child, now);
  if (isBanned(own, now)) return { verdict: 'banned', usage: before };
  if (cost === 0) return { verdict: 'passed', usage: before };

  const minute = openWindow(before.minuteStart, before.minuteUsed, MINUTE, now);
  const day = openWindow(before.dayStart, before.dayUsed, DAY, now);
  const minuteFits = minute.used + cost <= limits.perMinute;
  const dayFits = day.used + cost <= limits.perDay;

  if (minuteFits && dayFits) {
    return {
      verdict: 'passed',
      // Spreading the state would take longer than the rest of a charge.
      usage: {
        minuteStart: minute.start,
        minuteUsed: minute.used + cost,
        dayStart: day.start,
        dayUsed: day.used + cost,
        refusedUntil: before.refusedUntil,
        strikes: before.strikes,
        bannedUntil: before.bannedUntil,
        bans: before.bans,
        ...(before.children && { children: before.children }),
      },
    };
  }

  // Retry-After is in whole seconds, so retries are strikes until that second has passed.
  const opensAt = Math.max(minuteFits ? 0 : minute.start + MINUTE, dayFits ? 0 : day.start + DAY);
  const refusedUntil = Math.max(own.refusedUntil, now + toRetryAfter(opensAt - now) * 1000);
  const isStrike = now < own.refusedUntil;
  const strikes = isStrike ? [...own.strikes.filter((at) => at > now - STRIKE_WINDOW), now] : own.strikes;
  const { bannedUntil, bans } = own;
  if (strikes.length < STRIKES_TO_BAN) {
    // A refused request opens no window, but one from the future has to end when its Retry-After says.
    const windows = {
      minuteStart: Math.min(before.minuteStart, now),
      dayStart: Math.min(before.dayStart, now),
    };
    return {
      verdict: 'refused',
      usage: withStrikes({ ...before, ...windows }, { refusedUntil, strikes, bannedUntil, bans }, charge),
    };
  }

  const next = now < bannedUntil + DAY ? bans + 1 : 1;
  // Retry-After says when the ban ends, so a retry after it is no strike, even if the windows are still full.
  const ban = {
    refusedUntil: own.refusedUntil,
    strikes: [],
    bannedUntil: now + banDuration(next),
    bans: next,
  };
  return { verdict: 'banned', usage: withStrikes(before, ban, charge) };
}

/**
 * A window at a request, opened by it if necessary. One from the future, since the clock has been set back or is another
 * instance's, counts as opened now: otherwise it would last until the clock is there again.
 */
export const openWindow = (start: number, used: number, length: number, now: number) =>
  now < start + length ? { start: Math.min(start, now), used } : { start: now, used: 0 };

/** The duration of the nth consecutive ban, in milliseconds. */
export const banDuration = (n: number): number => Math.min(MAX_BAN, FIRST_BAN * 2 ** (n - 1));

/** Rounds milliseconds up to whole seconds for Retry-After, at least 1. */
export const toRetryAfter = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));
