/**
 * A fragment of the OpenAPI 3.0.3 description. May contain bigints, because a double cannot hold the largest
 * int64.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * How a value is written as JSON: int64 as digits, other numbers and booleans as they are, records by their
 * own shape, everything else quoted.
 */
type FieldKind = 'int64' | 'int32' | 'boolean' | 'record' | 'string';

/** One field of a REST body. */
export interface Field {
  kind: FieldKind;
  /** Whether every stored record has it. */
  required: boolean;
  description: string;
  /** The schema of stored values. */
  schema: JsonSchema;
  /** The schema of accepted input, if that is wider. */
  inputSchema?: JsonSchema;
  /** Converts a GraphQL value to the one REST uses. */
  toRestValue?: (value: string) => string;
  /** For a nested record: the GraphQL type whose shape it has. */
  recordType?: (outer: Readonly<Record<string, unknown>>) => string;
}

/**
 * The REST form of a record, field by field in output order. The JSON writer, the GraphQL selection and the
 * OpenAPI description are all derived from it.
 */
export interface Shape {
  /** The name of its GraphQL type. */
  type: string;
  /** The name of its OpenAPI schema. */
  name: string;
  /** The name of the schema for a page of records. */
  listName: string;
  description: string;
  /** The field that lists are ordered by and paths refer to. */
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

/** An integer from `min` to 2147483647. */
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

/** An instant, as an RFC 3339 date-time. */
export const instant = (description: string): Field => ({
  kind: 'string',
  required: true,
  description,
  schema: { type: 'string', format: 'date-time' },
});

/** A value of a named schema, which the domain declares. */
export const schemaRef = (schemaName: string, description: string): Field => ({
  kind: 'string',
  required: true,
  description,
  schema: { $ref: `#/components/schemas/${schemaName}` },
});

/** White space that is trimmed off names, and characters that no text may contain. */
const SPACE = '\\t-\\r \\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff';
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';

/** Text of at most `max` characters. */
export const text = (max: number, description: string): Field => ({
  kind: 'string',
  required: true,
  description,
  schema: { type: 'string', maxLength: max, pattern: `^[^${CONTROL}]*$` },
});

/** Text of 1 to `max` characters that is stored trimmed. */
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
    // Surrounding white space counts for a JSON string's length but not for the rule.
    inputSchema: {
      type: 'string',
      minLength: 1,
      pattern: `^[${SPACE}]*${edge}(${inner}{0,${max - 2}}${edge})?[${SPACE}]*$`,
    },
  };
};

/** The same field, but optional. */
export const optional = (field: Field): Field => ({ ...field, required: false });

/** The GraphQL selection of all fields of a shape. */
export const selectionOf = ({ fields }: Shape): string => `{ ${Object.keys(fields).join(' ')} }`;

/** The GraphQL selection of a page of a shape. */
export const pageOf = (shape: Shape): string => `{ nodes ${selectionOf(shape)} pageInfo { hasNextPage } }`;
