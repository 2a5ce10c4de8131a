import type { WindowView } from '../access/limiter.ts';
import type { RateLimitView } from '../access/session.ts';
import { formatInstant } from '../foundation/instant.ts';
import { builder } from '../kit/builder.ts';
import { PlanType } from './plan.type.ts';

/** When a window resets, for response bodies: an RFC 3339 date-time in whole seconds. */
const formatReset = (resetAt: number): string => formatInstant(Math.ceil(resetAt / 1000) * 1000);

const formatWindow = ({ limit, remaining, resetAt }: WindowView) => ({
  limit,
  remaining,
  resetAt: formatReset(resetAt),
});

/** The budget of a key and the cost of a request, for response bodies. */
export const formatBudget = ({ cost, plan, minute, day }: RateLimitView) => ({
  cost,
  plan,
  minute: formatWindow(minute),
  day: formatWindow(day),
});

const RateLimitWindowType = builder.objectRef<WindowView>('RateLimitWindow').implement({
  description: 'One window of the budget. It starts with its first request.',
  fields: (t) => ({
    limit: t.exposeInt('limit', { description: 'Requests allowed in the window.' }),
    remaining: t.exposeInt('remaining', { description: 'Requests left in the window.' }),
    resetAt: t.field({
      type: 'DateTime',
      description: 'When the window resets.',
      resolve: ({ resetAt }) => formatReset(resetAt),
    }),
  }),
});

const RateLimitType = builder.objectRef<RateLimitView>('RateLimit').implement({
  description: 'The budget of the API key, shared by REST and GraphQL.',
  fields: (t) => ({
    plan: t.expose('plan', { type: PlanType, description: 'The plan of the key.' }),
    cost: t.exposeInt('cost', { description: 'The cost of this operation in units.' }),
    minute: t.expose('minute', { type: RateLimitWindowType, description: 'The 60-second window.' }),
    day: t.expose('day', { type: RateLimitWindowType, description: 'The 24-hour window.' }),
  }),
});

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimitType,
    extensions: { free: true },
    description: 'The budget of the API key. Free, and available even when the budget is used up.',
    resolve: (_root, _args, { rateLimit }) => rateLimit(),
  }),
);
