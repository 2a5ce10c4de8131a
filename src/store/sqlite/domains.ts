import { category } from './category.ts';
import type { SqliteDomain } from './domain.ts';
import { order } from './order.ts';
import { pet } from './pet.ts';

/** All domains, in the order of their references. */
export const DOMAINS = [category, pet, order] as const satisfies readonly SqliteDomain[];
