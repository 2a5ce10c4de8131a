import { category } from './category/category.domain.ts';
import { inventory } from './inventory/inventory.domain.ts';
import { order } from './order/order.domain.ts';
import type { Domain } from './domain.ts';
import { pet } from './pet/pet.domain.ts';

/**
 * All domains, in the order of the GraphQL schema, REST operations, OpenAPI description, event types and store
 * contents, which are built from this list.
 */
export const DOMAINS: readonly Domain[] = [pet, category, order, inventory];
