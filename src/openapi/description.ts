import { stringify } from 'lossless-json';
import { type Config, publicBase } from '../config.ts';
import type { Api } from '../domains/create-api.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import { MAX_INT64 } from '../foundation/id.ts';
import type { ServedRoute } from '../rest-routes/route.ts';
import { Components } from './components.ts';
import { describeOperation } from './describe-operation.ts';
import { addShape, errorSchema } from './schemas.ts';

interface Options {
  /** Spaces per level. */
  indent?: number;
  /** The routes described; by default, those of the API. */
  routes?: readonly ServedRoute[];
}

/**
 * The OpenAPI 3.0.3 description of the REST interface as JSON text, derived from the domains, their rules and the error
 * table, so that it cannot diverge from the code.
 */
export function openApiJson(api: Api, config: Config, { indent, routes = api.routes }: Options = {}): string {
  return stringify(describe(api, config, routes), undefined, indent)!;
}

function describe(
  { resources, shapes, schemas, streamRoutes }: Api,
  config: Config,
  routes: readonly ServedRoute[],
): JsonSchema {
  const components = new Components();
  components.add('schemas', 'Error', errorSchema(routes));
  for (const shape of shapes) addShape(components, shape);
  for (const [name, schema] of Object.entries(schemas)) components.add('schemas', name, schema);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of [...routes, ...streamRoutes]) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = describeOperation(route, config, components);
  }
  return {
    openapi: '3.0.3',
    info: {
      title: 'Petstore',
      version: '1.0.0',
      description: ABOUT,
      contact: { name: 'The operator of this gateway' },
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
    },
    // Relative to the URL of the description, unless PUBLIC_URL is set (OpenAPI 3.0, Server Object).
    servers: [{ url: publicBase(config) + config.REST_BASE_PATH || '/', description: 'This gateway' }],
    tags: resources
      .flatMap(({ tags = {} }) => Object.entries(tags).map(([name, description]) => ({ name, description })))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    security: [{ KeyHeader: [] }, { BearerToken: [] }],
    paths,
    components: {
      ...components.toJson(),
      securitySchemes: {
        // Named differently from schemas, since generators give both the same name.
        KeyHeader: { type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'The API key as it is.' },
        BearerToken: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
      },
    },
  };
}

const ABOUT = `The store's data over REST. GraphQL at \`/graphql\` serves the same data and shares the same budget.

- **Key**: \`X-API-Key: <key>\` or \`Authorization: Bearer <key>\`, never in a URL.
- **Limits**: every response has \`X-RateLimit-*\` for the window with the smaller remainder, and \`RateLimit\` for both windows. The \`Retry-After\` of a 429 says how many seconds to wait. Keys that keep sending in the meantime are temporarily banned (403).
- **Errors** are always an Error object: \`code\` for programs, \`message\` for people, and the HTTP \`status\`.
- **Retries**: a POST or PATCH with an \`Idempotency-Key\` is carried out once, however often it is sent within 24 hours.
- **Versions**: every GET has an \`ETag\`. Send it in \`If-None-Match\` to skip an unchanged body, or in \`If-Match\` to change only the version you have seen.
- **Ids** are int64, exact up to ${MAX_INT64}. JavaScript's JSON.parse rounds integers beyond 2^53; GraphQL's ids are strings.
- **Strictness**: unknown fields and query parameters are refused.`;
