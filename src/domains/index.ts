import type { Domain } from '../schema/domain.ts';
import { category } from './category/category.type.ts';
import { inventory } from './inventory/inventory.type.ts';
import { order } from './order/order.type.ts';
import { pet } from './pet/pet.type.ts';

/**
 * All domains. The GraphQL schema, the REST operations, the OpenAPI description and the event types are built
 * from this list, in this order. The engines have lists of their own, because only one of them is loaded:
 * `store/sqlite/domains.ts` and `store/mongo/domains.ts`.
 */
export const DOMAINS = [pet, category, order, inventory] as const satisfies readonly Domain[];
