import { ALL_READS, readScope, writeScope } from '../access/scopes.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import type { Resource, Route } from '../rest-routes/route.ts';
import { choicesSchema, type Shape } from '../rest-routes/shape.ts';
import { apiKey, keys, ownKey } from './api-key/api-key.routes.ts';
import { events } from './event/event.routes.ts';
import { DOMAINS } from './index.ts';
import { requests } from './request/request.domain.ts';
import { usage } from './usage/usage.domain.ts';
import { FEATURES } from '../features.ts';

/** Everything REST exposes: the records of all domains, the log of their changes, and what features and keys add. */
export const RESOURCES: readonly Resource[] = [
  ...DOMAINS.map(({ resource }) => resource),
  events,
  ...FEATURES.flatMap(({ resources = [] }) => resources),
  apiKey,
  ownKey,
  keys,
  usage,
  requests,
];

export const SHAPES: readonly Shape[] = RESOURCES.flatMap(({ shapes }) => shapes);

/** The schemas that fields and parameters refer to by name. */
export const SCHEMAS: Readonly<Record<string, JsonSchema>> = Object.fromEntries([
  ...SHAPES.flatMap(({ fields }) => Object.values(fields).flatMap(({ choices }) => choices ?? [])).map(
    (choices) => [choices.name, choicesSchema(choices)],
  ),
  ...RESOURCES.flatMap(({ schemas = {} }) => Object.entries(schemas)),
]);

const ROWS: readonly Route[] = RESOURCES.flatMap(({ routes }) => routes);

/** Every REST operation that streams server-sent events. */
export const STREAMS: readonly Route[] = ROWS.filter(({ list }) => list === 'stream');

/** Every other REST operation. */
export const ROUTES: readonly Route[] = ROWS.filter(({ list }) => list !== 'stream');

const NEEDED = new Map<Route, readonly string[]>(
  RESOURCES.flatMap(({ scope, isManaged, routes }) => {
    const needed = ({ method }: Route) => (method === 'GET' && !isManaged ? readScope : writeScope)(scope!);
    return routes.map((row) => [row, scope === null ? [] : [needed(row)]] as const);
  }),
);

/** The scopes that a key needs for a route: that of its resource, by its method. */
export const scopesOf = (row: Route): readonly string[] => NEEDED.get(row)!;

const MANAGED: ReadonlySet<Route> = new Set(
  RESOURCES.filter(({ isManaged }) => isManaged).flatMap(({ routes }) => routes),
);

/** True if a route is a tool for agents: they are shown no secrets, and replace nothing that they haven't read. */
export const isTool = (row: Route): boolean => row.method !== 'PUT' && !MANAGED.has(row);

/** Every scope that a key can have. Resources that cannot be written over REST have no write scope. */
export const SCOPES: readonly string[] = [ALL_READS, ...new Set([...NEEDED.values()].flat())];
