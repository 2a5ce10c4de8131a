import { INT64_SCHEMA, type JsonSchema } from '../foundation/fields.ts';
import type { QueryParameter } from '../rest-routes/parameter.ts';
import type { Method, Route } from '../rest-routes/route.ts';
import { schemaNameOf } from '../rest-routes/shape.ts';
import type { Components } from './components.ts';

/** The path, query and header parameters of an operation. */
export function describeParameters(route: Route, components: Components) {
  const { method, kind, list, pathParameter, pathValue, query = [] } = route;
  const parameters: JsonSchema[] = [];
  if (pathParameter !== undefined) {
    parameters.push(
      components.add('parameters', pathParameter, {
        name: pathParameter,
        in: 'path',
        required: true,
        description: pathValue?.description ?? `The id of the ${kind}.`,
        schema: pathValue?.schema ?? INT64_SCHEMA,
        example: pathValue?.example ?? 1,
      }),
    );
  }
  for (const parameter of query) {
    const path = ['query', ...(parameter.shared ? [] : [schemaNameOf(route.shape!)]), parameter.name];
    parameters.push(components.add('parameters', path.join('.'), withExample(describeQuery(parameter))));
  }
  const ofMethod = list === 'stream' ? [LAST_EVENT_ID] : REQUEST_HEADERS[method];
  const isConditional = route.errors?.includes('PRECONDITION_FAILED') === true;
  for (const header of isConditional ? new Set([IF_MATCH, ...ofMethod]) : ofMethod)
    parameters.push(components.add('parameters', header.name, withExample(header)));
  return parameters;
}

/**
 * Adds an example. Importers such as Bruno's send every parameter that has an `example`, or a value in the first of
 * `examples`: so the first one of an optional parameter has none.
 */
const withExample = ({ example, ...parameter }: JsonSchema): JsonSchema => ({
  ...parameter,
  ...(example !== undefined &&
    (parameter.required
      ? { example }
      : { examples: { none: { summary: 'Not sent' }, sent: { value: example } } })),
});

const describeQuery = ({
  name,
  description,
  schema,
  required,
  repeatable,
  example,
}: QueryParameter): JsonSchema => ({
  name,
  in: 'query',
  ...(required && { required }),
  description,
  schema: repeatable
    ? { type: 'array', minItems: 1, ...(repeatable === 'distinct' && { uniqueItems: true }), items: schema }
    : schema,
  ...(repeatable && { style: 'form', explode: true }),
  ...(example !== undefined && { example: repeatable ? [example] : example }),
});

interface HeaderParameter extends JsonSchema {
  name: string;
}

const IF_MATCH: HeaderParameter = {
  name: 'If-Match',
  in: 'header',
  description: 'Proceed only if this is the current `ETag` of the resource; `*` matches any version.',
  // RFC 9110 section 13.1.1.
  schema: { type: 'string', pattern: '^(\\*|(W/)?"[^"]*"(\\s*,\\s*(W/)?"[^"]*")*)$' },
  example: '*',
};

const IF_NONE_MATCH: HeaderParameter = {
  name: 'If-None-Match',
  in: 'header',
  description: 'Return the body only if its `ETag` is no longer this one.',
  schema: { type: 'string' },
  example: '"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"',
};

const LAST_EVENT_ID: HeaderParameter = {
  name: 'Last-Event-ID',
  in: 'header',
  description:
    'Only events after this one. Clients send it when they reconnect. Takes precedence over `after`.',
  schema: { type: 'string' },
};

const IDEMPOTENCY_KEY: HeaderParameter = {
  name: 'Idempotency-Key',
  in: 'header',
  description:
    'A unique text for this call and its retries, with or without quotes. Stored for 24 hours (draft-ietf-httpapi-idempotency-key-header-07).',
  // 1 to 255 characters without quotes and escapes.
  schema: {
    type: 'string',
    pattern: '^([!#-~][!-~]{0,254}|"([!#-\\[\\]-~]|\\\\["\\\\]){1,255}")$',
  },
  example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
};

const REQUEST_HEADERS: Record<Method, readonly HeaderParameter[]> = {
  GET: [IF_NONE_MATCH],
  POST: [IDEMPOTENCY_KEY],
  PUT: [IF_MATCH],
  PATCH: [IF_MATCH, IDEMPOTENCY_KEY],
  DELETE: [IF_MATCH],
};
