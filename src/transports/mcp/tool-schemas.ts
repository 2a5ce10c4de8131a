import type { Tool } from '@modelcontextprotocol/server';
import type { JsonSchema } from '../../foundation/fields.ts';
import { MAX_INT32 } from '../../foundation/id.ts';
import { bodySchema } from '../../openapi/schemas.ts';
import type { QueryParameter } from '../../rest-routes/parameter.ts';
import type { Route } from '../../rest-routes/route.ts';
import type { Shape } from '../../rest-routes/shape.ts';

type ObjectSchema = Tool['inputSchema'];

/** Agents' JSON numbers are doubles, so ids are strings of digits both ways. */
const ID = { type: 'string', pattern: '^\\d+$' };
const BIG_INTEGER = { type: 'string', pattern: '^-?\\d+$' };

/** The parts of OpenAPI schemas that help agents; patterns are long and say less than an error message. */
const KEPT = ['type', 'enum', 'minimum', 'maximum', 'maxLength', 'format'];
/** Values that are omitted because they don't help agents. */
const OMITTED: ReadonlySet<unknown> = new Set(['int32', MAX_INT32]);

/** Schemas by name, for references. */
type Named = Readonly<Record<string, JsonSchema>>;

/** Translates a schema from OpenAPI 3.0 to short JSON Schema. */
function translate(schema: JsonSchema, named: Named): JsonSchema {
  if (typeof schema.$ref === 'string')
    return translate(named[nameIn(schema.$ref)] ?? { type: 'object' }, named);
  if (Array.isArray(schema.allOf)) return translate(schema.allOf[0], named);
  if (schema.oneOf) return { type: 'object' };
  if (schema.format === 'int64') return schema.minimum === 1 ? ID : BIG_INTEGER;
  const translated: Record<string, unknown> = {};
  for (const key of KEPT) {
    if (schema[key] !== undefined && !OMITTED.has(schema[key])) translated[key] = schema[key];
  }
  if (schema.items) translated.items = translate(schema.items as JsonSchema, named);
  return translated;
}

const nameIn = (ref: string): string => ref.slice(ref.lastIndexOf('/') + 1);

const described = (schema: JsonSchema, description: unknown, named: Named): JsonSchema => ({
  ...translate(schema, named),
  ...(description !== undefined && { description }),
});

const IDEMPOTENCY_KEY = {
  type: 'string',
  maxLength: 255,
  description: 'Unique for this call and its retries, which then do nothing twice.',
};

/** The schema of an object. */
export const object = (properties: JsonSchema, required: readonly string[] = []): ObjectSchema => ({
  type: 'object',
  properties: properties as ObjectSchema['properties'],
  ...(required.length > 0 && { required: [...required] }),
});

/** The fields that an update can remove. Null cannot express that, since hosts fill it in for omitted arguments. */
export const removableFields = ({ method, body }: Route): readonly string[] =>
  method === 'PATCH'
    ? Object.entries(body!.rules.shape)
        .filter(([, rule]) => rule.safeParse(null).success)
        .map(([name]) => name)
    : [];

/** True if a list must not be empty. As over GraphQL, an empty filter matches nothing, except for event types. */
export const needsValue = ({ repeatable, required }: QueryParameter): boolean =>
  required === true || repeatable === 'distinct';

/** The schema of a tool's arguments: path parameter, query parameters and fields of the body, in one flat object. */
export function inputSchemaOf(route: Route, named: Named): ObjectSchema {
  const { pathParameter, pathValue, kind, query = [], body, method } = route;
  const fields = body && (bodySchema(route, body) as { properties: JsonSchema; required?: string[] });
  const properties: Record<string, unknown> = {};
  if (pathParameter !== undefined) {
    properties[pathParameter] = pathValue
      ? described(pathValue.schema, pathValue.description, named)
      : { ...ID, description: `The id of the ${kind}` };
  }
  for (const parameter of query) {
    const { name, schema, description, repeatable } = parameter;
    // The tool's description explains paging.
    if (name === 'after') properties[name] = { type: 'string', description: AFTER };
    else if (repeatable)
      properties[name] = {
        type: 'array',
        ...(needsValue(parameter) && { minItems: 1 }),
        items: translate(schema, named),
        description,
      };
    else properties[name] = described(schema, description, named);
  }
  for (const [name, schema] of Object.entries(fields?.properties ?? {}))
    properties[name] = described(schema as JsonSchema, (schema as JsonSchema).description, named);
  const removable = removableFields(route);
  if (removable.length > 0)
    properties.remove = {
      type: 'array',
      items: { type: 'string', enum: removable },
      description: 'Fields to remove',
    };
  if (method !== 'GET') properties.idempotencyKey = IDEMPOTENCY_KEY;
  return object(properties, [
    ...(pathParameter ? [pathParameter] : []),
    ...query.filter(({ required }) => required).map(({ name }) => name),
    ...(fields?.required ?? []),
  ]);
}

const AFTER = '`after` of the previous page';

const recordSchema = ({ fields }: Shape, named: Named): ObjectSchema =>
  object(
    Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, outputOf(schema, named)])),
    Object.keys(fields).filter((name) => fields[name]!.required),
  );

/** The types alone: arguments and names explain the values. */
function outputOf(schema: JsonSchema, named: Named): JsonSchema {
  const { type, items } = translate(schema, named);
  return { type, ...(items !== undefined && { items: outputOf(items as JsonSchema, named) }) };
}

/** The schema of a tool's result. */
export function outputSchemaOf({ shape, list }: Route, named: Named): ObjectSchema {
  if (!shape) return object({ id: { type: 'string' } }, ['id']);
  if (!list) return recordSchema(shape, named);
  const items = { type: 'array', items: recordSchema(shape, named) };
  if (list === 'whole') return object({ items }, ['items']);
  return object({ items, after: { type: 'string' } }, list === 'log' ? ['items', 'after'] : ['items']);
}
