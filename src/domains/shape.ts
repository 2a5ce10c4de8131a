/** A part of the OpenAPI 3.0.3 description. Integers may be bigints, since the largest int64 is no double. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * How JSON writes a value: an int64 digit by digit, other numbers and booleans as they are, a record by a shape of its own,
 * anything else quoted.
 */
type FieldKind = 'int64' | 'int32' | 'boolean' | 'record' | 'string';

/** One field of a REST body. */
export interface Field {
  kind: FieldKind;
  /** Whether every stored record has it. */
  required: boolean;
  description: string;
  /** What a stored value looks like. */
  schema: JsonSchema;
  /** What a body may give for it, where that is more. */
  inputSchema?: JsonSchema;
  /** What REST calls a value that GraphQL has another name for. */
  toRestValue?: (value: string) => string;
  /** Of a record within a record: the GraphQL type whose shape it has. */
  recordType?: (outer: Readonly<Record<string, unknown>>) => string;
}

/**
 * How a kind of record looks in a REST answer, field by field in the order in which they are written. The JSON writer,
 * the selection of the GraphQL document and the OpenAPI description are all made from it.
 */
export interface Shape {
  /** Name of its GraphQL type. */
  type: string;
  /** Name of its OpenAPI schema. */
  name: string;
  /** Name of the schema of a page of them. */
  listName: string;
  description: string;
  /** The field that lists are ordered by and that paths name. */
  idField: string;
  fields: Readonly<Record<string, Field>>;
  example: JsonSchema;
}

const MAX_INT64 = 9223372036854775807n;
const MAX_INT32 = 2147483647;

export const INT64_SCHEMA: JsonSchema = {
  type: 'integer',
  format: 'int64',
  minimum: 1,
  maximum: MAX_INT64,
};

export const id = (description: string): Field => ({
  kind: 'int64',
  required: true,
  description,
  schema: INT64_SCHEMA,
});

/** A count from `min` to 2147483647. */
export const quantity = (min: number, description: string): Field => ({
  kind: 'int32',
  required: true,
  description,
  schema: { type: 'integer', format: 'int32', minimum: min, maximum: MAX_INT32 },
});

export const boolean = (description: string): Field => ({
  kind: 'boolean',
  required: true,
  description,
  schema: { type: 'boolean' },
});

/** An instant, written as RFC 3339 date-time. */
export const instant = (description: string): Field => ({
  kind: 'string',
  required: true,
  description,
  schema: { type: 'string', format: 'date-time' },
});

/** A value of a named schema of the description, which its domain gives. */
export const schemaRef = (schemaName: string, description: string): Field => ({
  kind: 'string',
  required: true,
  description,
  schema: { $ref: `#/components/schemas/${schemaName}` },
});

/** White space that is trimmed off a name, and what no text may contain. */
const SPACE = '\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff';
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';

/** A text of at most `max` characters. */
export const text = (max: number, description: string): Field => ({
  kind: 'string',
  required: true,
  description,
  schema: { type: 'string', maxLength: max, pattern: `^[^${CONTROL}]*$` },
});

/** A text of 1 to `max` characters that is stored without the white space around it. */
export const trimmedText = (max: number, description: string): Field => {
  const [edge, inner] = [`[^${SPACE}${CONTROL}]`, `[^${CONTROL}]`];
  return {
    kind: 'string',
    required: true,
    description,
    schema: {
      type: 'string',
      minLength: 1,
      maxLength: max,
      pattern: `^${edge}(${inner}*${edge})?$`,
    },
    // The white space around it counts for the length of a JSON string, but not for the rule.
    inputSchema: {
      type: 'string',
      minLength: 1,
      pattern: `^[${SPACE}]*${edge}(${inner}{0,${max - 2}}${edge})?[${SPACE}]*$`,
    },
  };
};

/** The same field where records may be without it. */
export const optional = (field: Field): Field => ({ ...field, required: false });

/** The selection of a GraphQL document that reads all fields of a shape. */
export const selectionOf = ({ fields }: Shape): string => `{ ${Object.keys(fields).join(' ')} }`;

/** The selection of a GraphQL connection that reads a page of a shape. */
export const pageOf = (shape: Shape): string => `{ nodes ${selectionOf(shape)} pageInfo { hasNextPage } }`;
