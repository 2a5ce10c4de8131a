import { category } from './category.ts';
import type { SqliteDomain } from './domain.ts';
import { order } from './order.ts';
import { pet } from './pet.ts';

/** The domains, those that others refer to first. */
export const DOMAINS = [category, pet, order] as const satisfies readonly SqliteDomain[];
