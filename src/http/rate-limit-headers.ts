import type { Decision, WindowView } from '../access/limiter.ts';
import { DAY, MINUTE } from '../store/usage.ts';
import type { Headers } from './response.ts';

/**
 * Adds X-RateLimit-* for the tightest window, and RateLimit-Policy and RateLimit for every window
 * (draft-ietf-httpapi-ratelimit-headers-11).
 */
export function addRateLimitHeaders(
  headers: Headers,
  decision: Decision | undefined,
  guardWindow: WindowView | undefined,
  now: number,
): void {
  const tightest = decision?.tightest ?? guardWindow;
  if (!tightest) return;
  let policy = `"address";q=${tightest.limit};w=60`;
  let left = `"address";r=${tightest.remaining};t=${secondsUntil(tightest.resetAt, now, MINUTE)}`;
  if (decision) {
    const { minute, day } = decision;
    policy = `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`;
    left = `"minute";r=${minute.remaining};t=${secondsUntil(minute.resetAt, now, MINUTE)}, "day";r=${day.remaining};t=${secondsUntil(day.resetAt, now, DAY)}`;
  }
  headers.push(
    'X-RateLimit-Limit',
    tightest.limit,
    'X-RateLimit-Remaining',
    tightest.remaining,
    'X-RateLimit-Reset',
    Math.ceil(tightest.resetAt / 1000),
    'RateLimit-Policy',
    policy,
    'RateLimit',
    left,
  );
}

/** @param length upper bound in milliseconds, in case the clock was set back */
const secondsUntil = (time: number, now: number, length: number): number =>
  Math.max(0, Math.ceil(Math.min(length, time - now) / 1000));
