import { ALL_READS, readScope, writeScope } from '../access/scopes.ts';
import type { Resource, Route } from '../rows/route.ts';
import { apiKeys } from './api-key/api-key.domain.ts';
import { events } from './event/event.routes.ts';
import { DOMAINS } from './index.ts';
import { usage } from './usage/usage.domain.ts';
import { webhookResources } from './webhook/webhook.routes.ts';

/**
 * Everything REST exposes: the records of all domains, the log of their changes and who is told of them, and the
 * key of the caller.
 */
export const RESOURCES: readonly Resource[] = [
  ...DOMAINS.map(({ resource }) => resource),
  events,
  ...webhookResources,
  apiKeys,
  ...usage,
];

/** Every REST operation. */
export const ROUTES: readonly Route[] = RESOURCES.flatMap(({ routes }) => routes);

/** Every REST operation that streams server-sent events. */
export const STREAMS: readonly Route[] = RESOURCES.flatMap(({ streams = [] }) => streams);

const NEEDED = new Map<Route, readonly string[]>(
  RESOURCES.flatMap(({ scope, routes, streams = [] }) => {
    const needed = ({ method }: Route) => (method === 'GET' ? readScope : writeScope)(scope!);
    return [...routes, ...streams].map((row) => [row, scope === null ? [] : [needed(row)]] as const);
  }),
);

/** The scopes that a key needs for a row: that of its resource, by its method. */
export const scopesOf = (row: Route): readonly string[] => NEEDED.get(row)!;

/** Every scope that a key can be given. What cannot be written over REST has none for writing. */
export const SCOPES: readonly string[] = [ALL_READS, ...new Set([...NEEDED.values()].flat())];
