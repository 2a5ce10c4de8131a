import type { PlanName } from '../store/stored-api-keys.ts';
import type { Limits } from '../store/limiter-algorithm.ts';

/** What a plan grants. */
interface PlanTerms {
  /** null: set for each key. */
  limits: Limits | null;
  /** Mutations per second that the burst guard lets through; null: unlimited. */
  mutationsPerSecond: number | null;
  /** Event streams that may be open at once in one process. */
  streams: number;
  /** Webhooks that a key may have. */
  webhooks: number;
}

/** The plans of the specification. Schema, help texts and tests of the documentation read their numbers from here. */
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
