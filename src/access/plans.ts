import type { Limits, PlanName } from '../store/store.ts';

interface Plan {
  /** null: agreed for each key. */
  limits: Limits | null;
  /** Mutations a second that the burst guard lets through; null: any number. */
  mutationsPerSecond: number | null;
}

/** The plans of the specification (contract section 5). */
export const PLANS: Record<PlanName, Plan> = {
  free: { limits: { perMinute: 60, perDay: 1_000 }, mutationsPerSecond: 20 },
  pro: { limits: { perMinute: 300, perDay: 10_000 }, mutationsPerSecond: 20 },
  business: { limits: { perMinute: 1_000, perDay: 100_000 }, mutationsPerSecond: 100 },
  enterprise: { limits: null, mutationsPerSecond: null },
};
