import type { WindowView } from '../access/limiter.ts';
import { PLANS } from '../access/plans.ts';
import type { RateLimitView } from '../access/session.ts';
import { formatReset } from '../graphql/budget.ts';
import { builder } from '../graphql/builder.ts';
import { PLAN_NAMES, type PlanName } from '../store/store.ts';

function describePlan(plan: PlanName): string {
  const { limits } = PLANS[plan];
  if (!limits) return 'Numbers agreed for the key.';
  const [perMinute, perDay] = [limits.perMinute, limits.perDay].map((limit) => limit.toLocaleString('en-US'));
  return `${perMinute} requests a minute, ${perDay} a day.`;
}

const PlanType = builder.enumType('Plan', {
  description: 'The plan of an API key.',
  values: Object.fromEntries(
    PLAN_NAMES.map((plan) => [plan, { value: plan, description: describePlan(plan) }]),
  ) as Record<PlanName, { value: PlanName; description: string }>,
});

const RateLimitWindowType = builder.objectRef<WindowView>('RateLimitWindow').implement({
  description: 'One window of the budget. It opens at its first request.',
  fields: (t) => ({
    limit: t.exposeInt('limit', { description: 'Requests that the window allows.' }),
    remaining: t.exposeInt('remaining', { description: 'Requests that are left.' }),
    resetAt: t.field({
      type: 'DateTime',
      description: 'When the window is new again.',
      resolve: ({ resetAt }) => formatReset(resetAt),
    }),
  }),
});

const RateLimitType = builder.objectRef<RateLimitView>('RateLimit').implement({
  description: 'The budget of the API key that is used, shared by REST and GraphQL.',
  fields: (t) => ({
    plan: t.expose('plan', { type: PlanType, description: 'The plan of the key.' }),
    cost: t.exposeInt('cost', { description: 'Units that this operation costs.' }),
    minute: t.expose('minute', { type: RateLimitWindowType, description: 'The window of 60 seconds.' }),
    day: t.expose('day', { type: RateLimitWindowType, description: 'The window of 24 hours.' }),
  }),
});

builder.queryField('rateLimit', (t) =>
  t.field({
    type: RateLimitType,
    extensions: { free: true },
    description:
      'The budget of the API key that is used. Costs nothing, and answers even when nothing is left.',
    resolve: (_root, _args, { rateLimit }) => rateLimit(),
  }),
);
