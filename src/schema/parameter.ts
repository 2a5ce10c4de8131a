import { ID_RULE, parseId } from '../foundation/id.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './connection.ts';
import { INT64_SCHEMA, type JsonSchema } from './shape.ts';

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
  rule: 'must be an integer from 0 to 9223372036854775807',
  read: (text) => (text === '0' ? text : (parseId(text) ?? undefined)),
};

/** Parameters that every list has. */
export const PAGE_PARAMETERS: readonly QueryParameter[] = [limit, after];
