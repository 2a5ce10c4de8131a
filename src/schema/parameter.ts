import { MAX_CURSOR_LENGTH } from '../foundation/cursor.ts';
import type { Issue } from '../foundation/errors.ts';
import { type Choices, INT64_SCHEMA, type JsonSchema } from '../foundation/fields.ts';
import { ID_RULE, parseId } from '../foundation/id.ts';
import { MAX_INT64 } from '../foundation/integers.ts';
import { DEFAULT_PAGE_SIZE } from '../foundation/pricing.ts';
import type { AnyRecord } from '../foundation/record.ts';
import { capitalised } from '../foundation/words.ts';
import { MAX_PAGE_SIZE } from './connection.ts';
import {
  DEFAULT_SORT,
  finderRule,
  findersOf,
  positionOf,
  prefixOf,
  type Sort,
  sortFor,
  sortsOf,
} from './sort.ts';

/** A query parameter: how it is read into a variable of the document, and how OpenAPI describes it. */
export interface QueryParameter {
  name: string;
  /** The GraphQL type of its variable, where the document is derived from the parameters. */
  type?: string;
  /** Whether it is the same for every kind of record. */
  shared?: true;
  description: string;
  /** Whether it may be given several times, perhaps only with distinct values. */
  repeatable?: true | 'distinct';
  schema: JsonSchema;
  /** The rule it must satisfy, for messages. */
  rule: string | ((given: GivenTexts) => string);
  /**
   * Parses the value; undefined if it breaks the rule.
   *
   * @param given all parameters of the request, which the rule may depend on
   */
  read: (text: string, given: GivenTexts) => unknown;
}

/** Query parameters as given, by name. */
export type GivenTexts = ReadonlyMap<string, readonly string[]>;

/** Filters by the id of another record. */
export const idParameter = (name: string, description: string): QueryParameter => ({
  name,
  type: 'ID',
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
  type: `[${schema}!]`,
  description: `${description} May be repeated.`,
  repeatable: true,
  schema: { $ref: `#/components/schemas/${schema}` },
  rule: `must be one of ${values.join(', ')}`,
  read: (text) => (values.includes(text) ? text : undefined),
});

/** Filters by `true` or `false`. */
export const booleanParameter = (name: string, description: string): QueryParameter => ({
  name,
  type: 'Boolean',
  description,
  schema: { type: 'boolean' },
  rule: 'must be true or false',
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
});

export const limit: QueryParameter = {
  name: 'limit',
  type: 'Int',
  shared: true,
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

/**
 * The parameters that every list of a record has: how it is searched and ordered, and which page of it.
 *
 * @param view the domain whose view of the record the list has, if it is not the record's own
 */
export function listParameters(record: AnyRecord, view?: string): readonly QueryParameter[] {
  const finders = findersOf(record, view);
  const sorts = sortsOf(record, view).map(({ name }) => name);
  const finderIn = (given: GivenTexts) => finders.find(([name]) => given.has(name))?.[0];
  /** The order that a request asks for. */
  const sortIn = (given: GivenTexts): Sort => sortFor(record, given.get('sort')?.[0], finderIn(given));
  const sort: QueryParameter = {
    name: 'sort',
    type: `${view === undefined ? record.type : capitalised(view)}Sort`,
    description:
      'The order of the list; `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.',
    schema: { type: 'string', enum: sorts, default: DEFAULT_SORT.name },
    rule: (given) => {
      const finder = finderIn(given);
      return finder === undefined ? `must be one of ${sorts.join(', ')}` : finderRule(finder);
    },
    read: (text, given) => {
      const finder = finderIn(given);
      const allowed = finder === undefined ? sorts : [finder, `-${finder}`];
      return allowed.includes(text) ? text : undefined;
    },
  };
  const after: QueryParameter = {
    name: 'after',
    type: 'String',
    shared: true,
    description:
      'The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page.',
    // Not int64 or text: generated clients in Go cannot send a value of either type.
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: MAX_CURSOR_LENGTH },
    rule: (given) =>
      sortIn(given) === DEFAULT_SORT
        ? `must be an integer from 0 to ${MAX_INT64}`
        : 'must come from the Link of a page with the same sort',
    read: (text, given) => (text === '0' || positionOf(record, sortIn(given), text) ? text : undefined),
  };
  const byName = finders.map(
    ([name, field]): QueryParameter => ({
      name,
      type: 'String',
      description: `Only ${record.plural} whose ${name} begins with this, regardless of case and accents. They are ordered by ${name}.`,
      schema: field.inputSchema ?? field.schema,
      rule: `must have ${field.limits}, without control characters`,
      read: (text) => (prefixOf(field, text) ? text : undefined),
    }),
  );
  return [...byName, sort, limit, after];
}

/**
 * Reads parameters, given as texts, into variables.
 *
 * @param issues collects unknown, invalid and repeated parameters
 * @param what what they are called in the message about an unknown one
 */
export function readTexts(
  given: GivenTexts,
  parameters: readonly QueryParameter[],
  issues: Issue[],
  what = 'query parameter',
): Record<string, unknown> {
  const variables: Record<string, unknown> = {};
  for (const [name, texts] of given) {
    const parameter = parameters.find((known) => known.name === name);
    if (!parameter) {
      issues.push({ path: name, message: `is not a known ${what}` });
      continue;
    }
    if (texts.length > 1 && !parameter.repeatable) {
      issues.push({ path: name, message: 'must not be repeated' });
      continue;
    }
    if (parameter.repeatable === 'distinct' && new Set(texts).size < texts.length) {
      issues.push({ path: name, message: 'must not have a value twice' });
      continue;
    }
    const values = texts.map((text) => parameter.read(text, given));
    const { rule } = parameter;
    if (values.includes(undefined))
      issues.push({ path: name, message: typeof rule === 'string' ? rule : rule(given) });
    else variables[name] = parameter.repeatable ? values : values[0];
  }
  return variables;
}
