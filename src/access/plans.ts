import type { PlanName } from '../store/stored-api-keys.ts';
import type { Limits } from '../store/limiter-algorithm.ts';

/** The terms of a plan. */
interface PlanTerms {
  /** Null if set for each key. */
  limits: Limits | null;
  /** Mutations per second allowed by the burst guard; null if unlimited. */
  mutationsPerSecond: number | null;
  /** Maximum open streams, exports and long polls of an account, per process. */
  streams: number;
  /** Maximum webhooks of an account. */
  webhooks: number;
}

/** The plans of the specification: the source of all numbers in the schema, help texts and documentation tests. */
export const PLANS: Record<PlanName, PlanTerms> = {
  free: { limits: { perMinute: 60, perDay: 1_000 }, mutationsPerSecond: 20, streams: 2, webhooks: 1 },
  pro: { limits: { perMinute: 300, perDay: 10_000 }, mutationsPerSecond: 20, streams: 10, webhooks: 5 },
  business: {
    limits: { perMinute: 1_000, perDay: 100_000 },
    mutationsPerSecond: 100,
    streams: 100,
    webhooks: 20,
  },
  enterprise: { limits: null, mutationsPerSecond: null, streams: 1_000, webhooks: 100 },
};
