import { category } from './category/category.domain.ts';
import { inventory } from './inventory/inventory.domain.ts';
import { order } from './order/order.domain.ts';
import type { Domain } from './domain.ts';
import { pet } from './pet/pet.domain.ts';

/**
 * All domains. The GraphQL schema, the REST operations, the OpenAPI description, the event types and what the
 * store holds are built from this list, in this order.
 */
export const DOMAINS: readonly Domain[] = [pet, category, order, inventory];
