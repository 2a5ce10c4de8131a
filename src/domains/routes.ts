import { readScope, writeScope } from '../access/scopes.ts';
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

const SCOPES = new Map<Route, readonly string[]>(
  RESOURCES.flatMap(({ scope, routes, streams = [] }) =>
    [...routes, ...streams].map((row) => {
      if (scope === null) return [row, []] as const;
      return [row, [row.method === 'GET' ? readScope(scope) : writeScope(scope)]] as const;
    }),
  ),
);

/** The scopes that a key needs for a row: that of its resource, by its method. */
export const scopesOf = (row: Route): readonly string[] => SCOPES.get(row)!;
