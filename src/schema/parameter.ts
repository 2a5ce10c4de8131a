import { type Choices, INT64_SCHEMA, type JsonSchema } from '../foundation/fields.ts';
import { ID_RULE, parseId } from '../foundation/id.ts';
import { MAX_INT64 } from '../foundation/integers.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './connection.ts';

/** A query parameter: how it is read into a variable of the document, and how OpenAPI describes it. */
export interface QueryParameter {
  name: string;
  /** Distinguishes its description from others with the same name. */
  key?: string;
  description: string;
  /** Whether it may be given several times, perhaps only with distinct values. */
  repeatable?: true | 'distinct';
  schema: JsonSchema;
  /** The rule it must satisfy, for messages. */
  rule: string;
  /** Parses the value; undefined if it breaks the rule. */
  read: (text: string) => unknown;
}

/** Filters by the id of another record. */
export const idParameter = (name: string, description: string): QueryParameter => ({
  name,
  description,
  schema: INT64_SCHEMA,
  rule: ID_RULE,
  read: (text) => parseId(text) ?? undefined,
});

/** Filters by any of some values. */
export const choiceParameter = (
  name: string,
  { name: schema, values }: Choices,
  description: string,
): QueryParameter => ({
  name,
  description: `${description} May be repeated.`,
  repeatable: true,
  schema: { $ref: `#/components/schemas/${schema}` },
  rule: `must be one of ${values.join(', ')}`,
  read: (text) => (values.includes(text) ? text : undefined),
});

/** Filters by `true` or `false`. */
export const booleanParameter = (name: string, description: string): QueryParameter => ({
  name,
  description,
  schema: { type: 'boolean' },
  rule: 'must be true or false',
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
});

export const limit: QueryParameter = {
  name: 'limit',
  description: 'Maximum number of items.',
  schema: {
    type: 'integer',
    format: 'int32',
    minimum: 1,
    maximum: MAX_PAGE_SIZE,
    default: DEFAULT_PAGE_SIZE,
  },
  rule: `must be an integer from 1 to ${MAX_PAGE_SIZE}`,
  read: (text) => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= MAX_PAGE_SIZE ? Number(text) : undefined),
};

const after: QueryParameter = {
  name: 'after',
  description: 'The last id already seen. 0 starts at the beginning.',
  schema: { ...INT64_SCHEMA, minimum: 0 },
  rule: `must be an integer from 0 to ${MAX_INT64}`,
  read: (text) => (text === '0' ? text : (parseId(text) ?? undefined)),
};

/** Parameters that every list has. */
export const PAGE_PARAMETERS: readonly QueryParameter[] = [limit, after];
