import type { JsonSchema } from '../foundation/fields.ts';
import { formatDate } from '../foundation/instant.ts';
import { listed, grouped } from '../foundation/words.ts';
import { refusalsDescription } from '../foundation/record.ts';
import {
  acceptsIdempotencyKey,
  hasOwnVariables,
  isExportable,
  type Lifecycle,
  MAX_EXPORT_SIZE,
  type Method,
  NDJSON,
  type Route,
  type ServedRoute,
  echoedFields,
  type Stability,
} from '../rest-routes/route.ts';
import { schemaNameOf } from '../rest-routes/shape.ts';
import { type Components, refTo, CACHING, describeHeaders, LIFECYCLE } from './components.ts';
import { changeOf, describeErrors } from './error-responses.ts';
import { describeParameters } from './parameters.ts';
import { bodyExample, bodySchema } from './schemas.ts';

/** Describes the operation of a route. */
export function describeOperation(
  route: ServedRoute,
  lifecycle: Lifecycle,
  components: Components,
): JsonSchema {
  const { operationId, tag, summary, stability, body, shape, deprecation, described } = route;
  return {
    operationId,
    tags: [tag],
    summary,
    description: descriptionOf(route, lifecycle),
    ...(deprecation && {
      deprecated: true,
      // An extension of oapi-codegen.
      'x-deprecated-reason': `Use ${deprecation.replacement} instead.`,
      'x-sunset': formatDate(lifecycle.SUNSET_DATE),
    }),
    'x-stability': stability,
    parameters: describeParameters(route, components),
    ...(body && {
      requestBody: {
        required: !hasOwnVariables(route) || !body.rules.safeParse({}).success,
        // A single media type, although PATCH accepts two: some generators fail on a second one.
        content: {
          'application/json': {
            schema: components.add('schemas', body.name, () => bodySchema(route, body)),
            example: bodyExample(shape!, body),
          },
        },
      },
    }),
    ...described,
    responses: {
      [route.status]: describeSuccess(route, components),
      ...(isConditional(route) && { 304: describeNotModified(route, components) }),
      ...describeErrors(route, components),
    },
  };
}

/** True if the response may be 304. */
const isConditional = ({ method, list }: Route): boolean => method === 'GET' && list !== 'stream';

const READ = 'Supports `If-None-Match` with the `ETag` of an earlier response.';
const LIST =
  'Ordered by ascending id unless `sort` says otherwise. If there are more pages, `Link` with `rel="next"` leads to the next. Supports `If-None-Match` with the `ETag` of an earlier response.';
const EXPORT = `With \`Accept: ${NDJSON}\`, the response is the whole list from \`after\` on, or \`limit\` records (up to ${grouped(MAX_EXPORT_SIZE)}), one per line. Costs 1 unit per 100 records. If the budget is used up or the server stops, the last line is an Error with one more field, \`after\`, to continue from.`;
const IDEMPOTENT = 'An `Idempotency-Key` makes the call safe to retry.';
const CONDITIONAL = 'With `If-Match`, only the version you have seen is changed.';

const BY_METHOD: Record<Method, readonly string[]> = {
  GET: [],
  POST: [IDEMPOTENT],
  PUT: [CONDITIONAL],
  PATCH: [
    'A JSON merge patch (RFC 7396), also as `application/merge-patch+json`: omitted fields stay as they are, `null` removes an optional field, and `{}` changes nothing.',
    CONDITIONAL,
    IDEMPOTENT,
  ],
  DELETE: ['The deletion is permanent.', CONDITIONAL],
};

function describeReplacement({ method, body }: Route): string | false {
  if (method !== 'PUT') return false;
  const isPartial = Object.values(body!.rules.shape).some((rule) => rule.safeParse(undefined).success);
  return `Replaces the whole record${isPartial ? ': omitted optional fields are reset to their default or removed' : ''}.`;
}

/** Describes the fields that the body may repeat. */
function describeRepeatable(route: Route): string | undefined {
  const repeatable = echoedFields(route);
  if (repeatable.length === 0) return undefined;
  const fields = listed(
    repeatable.map((field) => `\`${field}\``),
    'and',
  );
  return `The response to a GET can be sent back: the body may repeat ${fields} unchanged.`;
}

const BY_STABILITY: Record<Stability, string | undefined> = {
  stable: undefined,
  beta: '**Beta**: details may change within version 1.',
  experimental: '**Experimental**: may change or disappear at any time.',
};

/** Describes the refusals by references, uniqueness and hooks. */
export const refusalsOf = (route: ServedRoute): string | undefined => {
  const { record, blockers } = route;
  const change = changeOf(route);
  return record && change && refusalsDescription(record, change, blockers);
};

function descriptionOf(route: ServedRoute, lifecycle: Lifecycle): string {
  const { description, method, list, stability, deprecation } = route;
  return [
    deprecation &&
      `**Deprecated** since ${formatDate(lifecycle.DEPRECATION_DATE)}, sunset on ${formatDate(lifecycle.SUNSET_DATE)}. Use ${deprecation.replacement} instead.`,
    description,
    isConditional(route) && (list === 'pages' ? LIST : READ),
    isExportable(route) && EXPORT,
    refusalsOf(route),
    describeReplacement(route),
    ...BY_METHOD[method],
    describeRepeatable(route),
    BY_STABILITY[stability],
  ]
    .filter(Boolean)
    .join('\n\n');
}

function describeSuccess(route: Route, components: Components): JsonSchema {
  const { status, shape, list, method } = route;
  const isExported = isExportable(route);
  const headers = describeHeaders(
    components,
    shape && list !== 'stream' && 'ETag',
    ...readHeadersOf(route),
    (isExported || list === 'stream') && 'X-Accel-Buffering',
    status === 201 && 'Location',
    acceptsIdempotencyKey(method) && 'Idempotency-Replayed',
  );
  const description = { 200: 'OK.', 201: 'Created.', 204: 'Deleted.' }[status];
  if (!shape) return { description, headers };
  const name = schemaNameOf(shape);
  const json = JSON.stringify(shape.example);
  if (list === 'stream') {
    const { id, type } = shape.example;
    // No schema: some tools would check the whole text against it, others each event.
    const events = { example: `retry: 3000\nid: ${id}\nevent: ${type}\ndata: ${json}\n\n` };
    return { description, headers, content: { 'text/event-stream': events } };
  }
  return {
    description,
    headers,
    content: {
      'application/json': {
        schema: refTo('schemas', list ? shape.listName! : name),
        example: list ? [shape.example] : shape.example,
      },
    },
  };
}

/** The headers of a response to a read, for 200 and 304. */
const readHeadersOf = ({ method, list, deprecation }: Route) => [
  ...(method === 'GET' ? CACHING : []),
  list && list !== 'whole' && ('Link' as const),
  ...(deprecation ? LIFECYCLE : []),
];

const describeNotModified = (route: Route, components: Components): JsonSchema => ({
  description: 'Not modified: If-None-Match names the current version.',
  headers: describeHeaders(components, 'ETag', ...readHeadersOf(route)),
});
