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
  if (decision) addDecision(headers, decision, now);
  else if (guardWindow) addGuardWindow(headers, guardWindow, now);
}

function addDecision(headers: Headers, { minute, day, tightest }: Decision, now: number): void {
  addWindow(headers, tightest);
  headers.push(
    'RateLimit-Policy',
    `"minute";q=${minute.limit};w=60, "day";q=${day.limit};w=86400`,
    'RateLimit',
    `"minute";r=${minute.remaining};t=${secondsUntil(minute.resetAt, now, MINUTE)}, "day";r=${day.remaining};t=${secondsUntil(day.resetAt, now, DAY)}`,
  );
}

function addGuardWindow(headers: Headers, window: WindowView, now: number): void {
  addWindow(headers, window);
  headers.push(
    'RateLimit-Policy',
    `"address";q=${window.limit};w=60`,
    'RateLimit',
    `"address";r=${window.remaining};t=${secondsUntil(window.resetAt, now, MINUTE)}`,
  );
}

function addWindow(headers: Headers, { limit, remaining, resetAt }: WindowView): void {
  headers.push(
    'X-RateLimit-Limit',
    limit,
    'X-RateLimit-Remaining',
    remaining,
    'X-RateLimit-Reset',
    Math.ceil(resetAt / 1000),
  );
}

/** @param length upper bound in milliseconds, in case the clock was set back */
const secondsUntil = (time: number, now: number, length: number): number =>
  Math.max(0, Math.ceil(Math.min(length, time - now) / 1000));
