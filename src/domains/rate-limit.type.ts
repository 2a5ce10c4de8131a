import type { WindowView } from '../access/limiter.ts';
import type { RateLimitView } from '../access/session.ts';
import { formatInstant } from '../foundation/instant.ts';
import type { Builder } from '../schema/builder.ts';
import { enumOf } from '../schema/record-types.ts';
import { Plan } from './api-key/api-key.ts';

/** A window as shown in responses. The reset is rounded up to a second. */
const formatWindow = ({ limit, remaining, resetAt }: WindowView) => ({
  limit,
  remaining,
  resetAt: formatInstant(Math.ceil(resetAt / 1000) * 1000),
});

/** The budget of a key and the cost of a request, as shown in responses. */
export const formatBudget = ({ cost, plan, minute, day }: RateLimitView) => ({
  cost,
  plan,
  minute: formatWindow(minute),
  day: formatWindow(day),
});

/** Adds the query `rateLimit`. */
export function addRateLimit(builder: Builder): void {
  const RateLimitWindowType = builder
    .objectRef<ReturnType<typeof formatWindow>>('RateLimitWindow')
    .implement({
      description: 'One window of the budget. It starts with its first request.',
      fields: (t) => ({
        limit: t.exposeInt('limit', { description: 'Requests allowed in the window.' }),
        remaining: t.exposeInt('remaining', { description: 'Requests left in the window.' }),
        resetAt: t.expose('resetAt', { type: 'DateTime', description: 'When the window resets.' }),
      }),
    });

  const RateLimitType = builder.objectRef<ReturnType<typeof formatBudget>>('RateLimit').implement({
    description: 'The budget of the API key, shared by REST and GraphQL.',
    fields: (t) => ({
      plan: t.expose('plan', { type: enumOf(builder, Plan), description: 'The plan of the key.' }),
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
      resolve: (_root, _args, { rateLimit }) => formatBudget(rateLimit()),
    }),
  );
}
