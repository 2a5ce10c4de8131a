import { PLANS } from '../access/plans.ts';
import { builder } from '../kit/builder.ts';
import { PLAN_NAMES, type PlanName } from '../store/store.ts';

function describePlan(plan: PlanName): string {
  const { limits } = PLANS[plan];
  if (!limits) return 'Limits are set per key.';
  const [perMinute, perDay] = [limits.perMinute, limits.perDay].map((limit) => limit.toLocaleString('en-US'));
  return `${perMinute} requests per minute, ${perDay} per day.`;
}

export const PlanType = builder.enumType('Plan', {
  description: 'The plan of an API key.',
  values: Object.fromEntries(
    PLAN_NAMES.map((plan) => [plan, { value: plan, description: describePlan(plan) }]),
  ) as Record<PlanName, { value: PlanName; description: string }>,
});
