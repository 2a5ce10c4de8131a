import { category } from './category.ts';
import type { MongoDomain } from './domain.ts';
import { order } from './order.ts';
import { pet } from './pet.ts';

/** The domains. */
export const DOMAINS = [category, pet, order] as const satisfies readonly MongoDomain[];
