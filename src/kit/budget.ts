import type { WindowView } from '../access/limiter.ts';
import type { RateLimitView } from '../access/session.ts';
import { formatInstant } from '../foundation/instant.ts';

/** When a window resets, for response bodies: an RFC 3339 date-time in whole seconds. */
export const formatReset = (resetAt: number): string => formatInstant(Math.ceil(resetAt / 1000) * 1000);

const formatWindow = ({ limit, remaining, resetAt }: WindowView) => ({
  limit,
  remaining,
  resetAt: formatReset(resetAt),
});

/** The budget of a key and the cost of a request, for response bodies. */
export const formatBudget = ({ cost, plan, minute, day }: Omit<RateLimitView, 'refusalsUntilBan'>) => ({
  cost,
  plan,
  minute: formatWindow(minute),
  day: formatWindow(day),
});
