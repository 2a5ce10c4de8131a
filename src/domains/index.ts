import './category/category.type.ts';
import './pet/pet.type.ts';
import './inventory/inventory.type.ts';
import './order/order.type.ts';
import './event/event.type.ts';
import './rate-limit.type.ts';
import { categories } from './category/category.routes.ts';
import { events } from './event/event.routes.ts';
import { inventory } from './inventory/inventory.routes.ts';
import { orders } from './order/order.routes.ts';
import { pets } from './pet/pet.routes.ts';
import type { Resource, Route, Stream } from './route.ts';

/**
 * The domains. The GraphQL schema gets their types by the imports above; the REST routes, the writers of answers and the
 * OpenAPI description are made from what they state about REST. This is the one place that a new domain is added to.
 */
export const RESOURCES: readonly Resource[] = [pets, categories, orders, inventory, events];

/** Every REST operation. */
export const ROUTES: readonly Route[] = RESOURCES.flatMap(({ routes }) => routes);

/** Every stream of server-sent events over REST. */
export const STREAMS: readonly Stream[] = RESOURCES.flatMap(({ streams = [] }) => streams);
