import type { Feature } from './feature.ts';
import { webhooks } from './webhooks/webhooks.feature.ts';

/** All features, in the order in which documentation shows their operations. */
export const FEATURES: readonly Feature[] = [webhooks];
