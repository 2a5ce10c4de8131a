import { PLANS } from '../access/plans.ts';
import { choices } from '../foundation/fields.ts';
import { PLAN_NAMES, type PlanName } from '../store/api-keys.ts';

function describePlan(plan: PlanName): string {
  const { limits } = PLANS[plan];
  if (!limits) return 'Limits are set per key.';
  const [perMinute, perDay] = [limits.perMinute, limits.perDay].map((limit) => limit.toLocaleString('en-US'));
  return `${perMinute} requests per minute, ${perDay} per day.`;
}

export const Plan = choices(
  'Plan',
  'The plan of an API key.',
  Object.fromEntries(PLAN_NAMES.map((plan) => [plan, describePlan(plan)])) as Record<PlanName, string>,
);
