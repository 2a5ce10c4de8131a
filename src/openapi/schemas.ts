import type { z } from 'zod';
import { ERRORS, type ErrorCode } from '../foundation/errors.ts';
import type { JsonSchema } from '../foundation/fields.ts';
import { MAX_PAGE_SIZE } from '../schema/list-connection.ts';
import type { Body, Method, Route, ServedRoute } from '../rest-routes/route.ts';
import { idFieldOf, type Shape } from '../rest-routes/shape.ts';
import { type Components, refTo } from './components.ts';
import { errorsOf } from './error-responses.ts';

/** Adds the schemas of a shape and of lists of it. */
export function addShape(components: Components, shape: Shape): void {
  const { type, name = type, listName, listDescription, description, fields, example, schema } = shape;
  components.add(
    'schemas',
    name,
    schema ?? {
      type: 'object',
      description,
      required: Object.keys(fields).filter((field) => fields[field]!.required),
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(fields).map(([field, { schema, description, compute }]) => [
          field,
          { ...describedAs(schema, description), ...(compute && { readOnly: true }) },
        ]),
      ),
      example,
    },
  );
  if (listName === undefined) return;
  components.add('schemas', listName, {
    type: 'array',
    description: listDescription ?? 'A page of records, by default ordered by id.',
    maxItems: MAX_PAGE_SIZE,
    items: refTo('schemas', name),
  });
}

const BODY_DESCRIPTIONS: Partial<Record<Method, string>> = {
  POST: 'A new record, or the replacement for an existing one.',
  PUT: 'The replacement for the record.',
  PATCH: 'The fields to change.',
};

/**
 * Derives the schema of a body by probing its rules. Descriptions mention the defaults, because generators treat a
 * field with a `default` as always present.
 */
export function bodySchema({ method, shape }: Route, body: Body): JsonSchema {
  const required: string[] = [];
  const properties: Record<string, JsonSchema> = {};
  for (const [name, rule] of Object.entries(rulesOf(body))) {
    const { schema, inputSchema, description } = (body.fields ?? shape!.fields)[name]!;
    const { success, data: absent } = rule.safeParse(undefined);
    if (!success) required.push(name);
    properties[name] = {
      ...describedAs(
        inputSchema ?? schema,
        absent === undefined ? description : `${description}; defaults to \`${absent}\``,
      ),
      ...(rule.safeParse(null).success && { nullable: true }),
    };
  }
  return {
    type: 'object',
    description: body.description ?? BODY_DESCRIPTIONS[method],
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    properties,
    example: bodyExample(shape!, body),
  };
}

export function bodyExample(shape: Shape, body: Body): JsonSchema {
  const { example } = shape;
  if (body.example) return body.example;
  return Object.fromEntries(
    Object.keys(rulesOf(body))
      .filter((field) => field !== idFieldOf(shape) && example[field] !== undefined)
      .map((field) => [field, example[field]]),
  );
}

export function errorSchema(routes: readonly ServedRoute[]): JsonSchema {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter(
    (code) => code === 'METHOD_NOT_ALLOWED' || routes.some((route) => errorsOf(route).includes(code)),
  );
  return {
    type: 'object',
    description: 'What went wrong.',
    required: ['code', 'message', 'status'],
    additionalProperties: false,
    properties: {
      code: { type: 'string', enum: codes, description: 'A machine-readable error code' },
      message: { type: 'string', minLength: 1, description: 'A human-readable description of the error' },
      status: { type: 'integer', format: 'int32', description: 'The HTTP status code' },
    },
    example: { code: 'NOT_FOUND', message: ERRORS.NOT_FOUND.when, status: 404 },
  };
}

const rulesOf = ({ rules }: Body) => rules.shape as Record<string, z.ZodType>;

/** Adds a description to a schema. OpenAPI 3.0 ignores siblings of `$ref`. */
const describedAs = (schema: JsonSchema, description: string): JsonSchema =>
  '$ref' in schema ? { allOf: [schema], description } : { ...schema, description };
