/** A key's limits in its two windows. */
export interface Limits {
  perMinute: number;
  perDay: number;
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

/** The limiter's usage of keys. */
export interface LimiterStore {
  /** Charges both windows of a key atomically, or neither (rules in `store/usage.ts`). */
  charge(charge: Charge): Promise<ChargeResult>;
  /** The last stored usage of each key; null if there is none yet. */
  usage(apiKeyIds: readonly string[]): Promise<(UsageState | null)[]>;
}

/** The limiter's rules, in milliseconds. */
export const MINUTE = 60_000;
export const DAY = 86_400_000;
/** Days of history that are kept, today included. */
export const HISTORY_KEPT = 92;
export const STRIKES_TO_BAN = 20;
export const STRIKE_WINDOW = 10 * MINUTE;
export const FIRST_BAN = MINUTE;
const MAX_BAN = DAY;

/** The state of a key that has never been used. */
export const initialUsage = (): UsageState => ({
  minuteStart: 0,
  minuteUsed: 0,
  dayStart: 0,
  dayUsed: 0,
  refusedUntil: 0,
  strikes: [],
  bannedUntil: 0,
  bans: 0,
});

/**
 * Applies one charge. A window opens at its first request. Both windows are charged or neither. A refusal during the
 * Retry-After of an earlier one is a strike, and the 20th strike in 10 minutes bans.
 *
 * @param before the key's state; not modified
 * @returns the decision and the resulting state
 */
export function chargeUsage(before: UsageState, { cost, limits, now }: Charge): ChargeResult {
  if (before.bannedUntil > now) return { outcome: 'banned', usage: before };
  if (cost === 0) return { outcome: 'passed', usage: before };

  const minuteOpen = now < before.minuteStart + MINUTE;
  const dayOpen = now < before.dayStart + DAY;
  const minuteUsed = minuteOpen ? before.minuteUsed : 0;
  const dayUsed = dayOpen ? before.dayUsed : 0;
  const minuteFits = minuteUsed + cost <= limits.perMinute;
  const dayFits = dayUsed + cost <= limits.perDay;

  if (minuteFits && dayFits) {
    return {
      outcome: 'passed',
      // Each field by itself: to spread the state takes longer than all the rest of a charge.
      usage: {
        minuteStart: minuteOpen ? before.minuteStart : now,
        minuteUsed: minuteUsed + cost,
        dayStart: dayOpen ? before.dayStart : now,
        dayUsed: dayUsed + cost,
        refusedUntil: before.refusedUntil,
        strikes: before.strikes,
        bannedUntil: before.bannedUntil,
        bans: before.bans,
      },
    };
  }

  // Retry-After is in whole seconds, so a strike counts until that second has passed.
  const opensAt = Math.max(
    minuteFits ? 0 : (minuteOpen ? Math.min(now, before.minuteStart) : now) + MINUTE,
    dayFits ? 0 : (dayOpen ? Math.min(now, before.dayStart) : now) + DAY,
  );
  const refusedUntil = Math.max(before.refusedUntil, now + toRetryAfter(opensAt - now) * 1000);
  const isStrike = now < before.refusedUntil;
  const strikes = isStrike
    ? [...before.strikes.filter((at) => at > now - STRIKE_WINDOW), now]
    : before.strikes;
  if (strikes.length < STRIKES_TO_BAN)
    return { outcome: 'refused', usage: { ...before, refusedUntil, strikes } };

  const bans = now < before.bannedUntil + DAY ? before.bans + 1 : 1;
  const bannedUntil = now + banDuration(bans);
  // Retry-After gives the end of the ban rather than of the windows, so a later retry breaks no promise.
  return { outcome: 'banned', usage: { ...before, strikes: [], bannedUntil, bans } };
}

/** Duration of the nth consecutive ban, in milliseconds. */
export const banDuration = (n: number): number => Math.min(MAX_BAN, FIRST_BAN * 2 ** (n - 1));

/** Rounds milliseconds up to whole seconds for Retry-After, at least 1. */
export const toRetryAfter = (milliseconds: number): number => Math.max(1, Math.ceil(milliseconds / 1000));
