import '../domains/category/category.type.ts';
import '../domains/pet/pet.type.ts';
import '../domains/inventory/inventory.type.ts';
import '../domains/order/order.type.ts';
import '../domains/rate-limit.type.ts';
import { builder } from './builder.ts';

/** The executable schema of both doors. Making it opens nothing and needs no environment. */
export const schema = builder.toSchema();
