import { ID_RULE, parseId } from '../../domains/id.ts';
import { AppError, type Issue } from '../../errors.ts';
import { DEFAULT_PAGE_SIZE, LARGEST_PAGE } from '../../graphql/connection.ts';
import { PET_STATUSES } from '../../store/store.ts';

/** A query parameter: how its text becomes a variable of the document, and how OpenAPI describes it. */
export interface QueryParameter {
  description: string;
  /** Whether it may be given several times. */
  repeatable?: true;
  /** The OpenAPI 3.0.3 schema. */
  schema: Record<string, unknown>;
  rule: string;
  /** The value; undefined breaks the rule. */
  read: (text: string) => unknown;
}

const statuses: readonly string[] = PET_STATUSES;
const id = (description: string): QueryParameter => ({
  description,
  schema: { type: 'integer', format: 'int64', minimum: 1 },
  rule: ID_RULE,
  read: (text) => parseId(text) ?? undefined,
});

export const QUERY_PARAMETERS = {
  status: {
    description: 'Only pets with this status; may be given several times.',
    repeatable: true,
    schema: { $ref: '#/components/schemas/PetStatus' },
    rule: `must be one of ${statuses.join(', ')}`,
    read: (text) => (statuses.includes(text) ? text : undefined),
  },
  categoryId: id('Only pets of this category.'),
  petId: id('Only orders that name this pet.'),
  complete: {
    description: 'Only orders that are fulfilled, or only those that are not.',
    schema: { type: 'boolean' },
    rule: 'must be true or false',
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  },
  limit: {
    description: 'How many items at most.',
    schema: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      maximum: LARGEST_PAGE,
      default: DEFAULT_PAGE_SIZE,
    },
    rule: `must be an integer from 1 to ${LARGEST_PAGE}`,
    read: (text) => (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= LARGEST_PAGE ? Number(text) : undefined),
  },
  after: {
    description: 'The last id already seen; 0 starts at the beginning.',
    schema: { type: 'integer', format: 'int64', minimum: 0 },
    rule: 'must be an integer from 0 to 9223372036854775807',
    read: (text) => (text === '0' ? text : (parseId(text) ?? undefined)),
  },
} as const satisfies Record<string, QueryParameter>;

export type QueryParameterName = keyof typeof QUERY_PARAMETERS;

/**
 * Reads a query string (without its `?`) into variables.
 *
 * @param issues takes what is wrong: unknown parameters, broken rules, parameters given twice
 * @throws BAD_REQUEST when the percent-encoding is broken
 */
export function readQuery(
  query: string,
  names: readonly QueryParameterName[],
  issues: Issue[],
): Record<string, unknown> {
  if (query === '') return {};
  const given = new Map<string, string[]>();
  for (const part of query.split('&')) {
    if (part === '') continue;
    const equals = part.indexOf('=');
    const name = decode(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? '' : decode(part.slice(equals + 1));
    const values = given.get(name);
    if (values) values.push(value);
    else given.set(name, [value]);
  }
  const variables: Record<string, unknown> = {};
  for (const [name, texts] of given) {
    if (!(names as readonly string[]).includes(name)) {
      issues.push({ path: name, message: 'is not a known query parameter' });
      continue;
    }
    const parameter: QueryParameter = QUERY_PARAMETERS[name as QueryParameterName];
    if (texts.length > 1 && !parameter.repeatable) {
      issues.push({ path: name, message: 'must be given once' });
      continue;
    }
    const values = texts.map(parameter.read);
    if (values.includes(undefined)) issues.push({ path: name, message: parameter.rule });
    else variables[name] = parameter.repeatable ? values : values[0];
  }
  return variables;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new AppError('BAD_REQUEST', 'The query string is not valid percent-encoded UTF-8.');
  }
}
