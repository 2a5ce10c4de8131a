import { MAX_CURSOR_LENGTH } from '../foundation/cursor.ts';
import { type Issue, unknownNames } from '../foundation/errors.ts';
import type { Field, JsonSchema } from '../foundation/fields.ts';
import { DEFAULT_PAGE_SIZE } from '../foundation/meter.ts';
import { type AnyDeclaration, boundNames, type Fields, groupedFields } from '../foundation/record.ts';
import { capitalised } from '../foundation/words.ts';
import { MAX_PAGE_SIZE } from '../schema/list-connection.ts';
import {
  prefixFields,
  type RequestedFilter,
  rangesOf,
  readList,
  ruleOf,
  sortsOf,
} from '../schema/list-arguments.ts';
import { SCALARS } from '../schema/record-types.ts';

/** A query parameter: its conversion to a variable of the document, and its OpenAPI description. */
export interface QueryParameter {
  name: string;
  /** The GraphQL type of its variable, if the document is derived from the parameters. */
  type?: string;
  /** True if it is the same for every kind of record. */
  shared?: true;
  description: string;
  /** The field that it is an end of a range of, if any. */
  bounds?: string;
  required?: true;
  /** Set if it may be repeated, or repeated with distinct values. */
  repeatable?: true | 'distinct';
  /** Has no defaults, which the description mentions: generators would send them, even if they depend on a filter. */
  schema: JsonSchema;
  /** An example, unless the schema suggests a working value. */
  example?: string;
  /** The rule, for messages: for all values, or a function that returns the rule a value breaks. */
  rule: string | ((text: string) => string);
  /** Parses the value; undefined if it breaks the rule. */
  read: (text: string) => unknown;
  /** Checks parameters that depend on each other; `variables` lacks those that break their own rule. */
  check?: (variables: Readonly<Record<string, unknown>>, texts: ParameterTexts) => readonly Issue[];
}

/** Query parameters as received, by name. */
export type ParameterTexts = ReadonlyMap<string, readonly string[]>;

/** A parameter for an integer within bounds, in canonical digits. */
export const integerParameter = (minimum: number, maximum: number) => ({
  type: 'Int',
  schema: { type: 'integer', format: 'int32', minimum, maximum },
  rule: `must be an integer from ${minimum} to ${maximum}`,
  read: (text: string) =>
    /^(0|-?[1-9]\d{0,9})$/.test(text) && Number(text) >= minimum && Number(text) <= maximum
      ? Number(text)
      : undefined,
});

/** The values of a parameter: their GraphQL type, rule and parser. */
type Values = Pick<QueryParameter, 'type' | 'rule' | 'read'>;

/** Values that are texts in GraphQL too, with the same rule. */
function textValues(field: Field): Values {
  const parse = (text: string) => ruleOf(field).safeParse(text);
  return {
    type: SCALARS[field.kind],
    rule: (text) => parse(text).error!.issues[0]!.message,
    read: (text) => (parse(text).success ? text : undefined),
  };
}

function valuesOf(field: Field): Values {
  const { kind, range } = field;
  if (kind === 'integer') return integerParameter(...range!);
  if (kind !== 'boolean') return textValues(field);
  return {
    type: SCALARS[kind],
    rule: 'must be true or false',
    read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  };
}

/** The parameter for a field. It may take several values of an enumeration. */
export function fieldParameter(name: string, description: string, field: Field): QueryParameter {
  const { choices, schema } = field;
  if (!choices) return { name, description, schema, ...valuesOf(field) };
  const { values, restValue = (value) => value } = choices;
  return {
    name,
    type: `[${choices.name}!]`,
    description: `${description} May be repeated.`,
    repeatable: true,
    schema,
    rule: `must be one of ${values.map(restValue).join(', ')}`,
    read: (text) => values.find((value) => restValue(value) === text),
  };
}

/** The parameter that filters a list by a field. */
export const filterParameter = (
  declaration: AnyDeclaration,
  name: string,
  description = `Only ${declaration.plural} whose \`${name}\` is this.`,
): QueryParameter => fieldParameter(name, description, (declaration.fields as Fields)[name]!);

export const limit: QueryParameter = {
  ...integerParameter(1, MAX_PAGE_SIZE),
  name: 'limit',
  shared: true,
  description: `Maximum number of items, by default ${DEFAULT_PAGE_SIZE}.`,
};

/** The filter from the variables of a list's parameters. */
function filterOf(
  declaration: AnyDeclaration,
  variables: Readonly<Record<string, unknown>>,
  view?: string,
): RequestedFilter {
  const own = Object.entries(variables).filter(([name]) => Object.hasOwn(declaration.fields, name));
  const ranges = rangesOf(declaration, view).map(([name]) => {
    const [min, max] = boundNames(name).map((end) => variables[end]);
    return [name, { min, max }] as const;
  });
  return Object.fromEntries([...own, ...ranges]);
}

/** The parameter for the fields to count records by. */
export function byParameter(declaration: AnyDeclaration): QueryParameter {
  const fields = groupedFields(declaration);
  return {
    name: 'by',
    type: `[${declaration.type}Group!]!`,
    required: true,
    repeatable: true,
    description: `What ${declaration.plural} are counted by. May be repeated.`,
    schema: { type: 'string', enum: fields },
    example: fields[0]!,
    rule: `must be one of ${fields.join(', ')}`,
    read: (text) => (fields.includes(text) ? text : undefined),
    check: ({ by, ...variables }) =>
      readList(
        declaration,
        {},
        filterOf(declaration, variables),
        undefined,
        by as readonly string[] | undefined,
      ).issues,
  };
}

/**
 * The parameters of every list of a record: prefixes, ranges, order and page.
 *
 * @param options.view the domain of the view, for a list of a view of the record
 * @param options.below the field that refers to the parent in the path, for a list below one
 */
export function listParameters(
  declaration: AnyDeclaration,
  { view, below }: { view?: string; below?: string } = {},
): readonly QueryParameter[] {
  const sorts = sortsOf(declaration, view).map(({ name }) => name);
  const sort: QueryParameter = {
    name: 'sort',
    type: `${view === undefined ? declaration.type : capitalised(view)}Sort`,
    description:
      'The order of the list: by default `id`, or the field whose start or range is a filter. `-` is descending. Equal values are ordered by id in the same direction; absent ones come last.',
    schema: { type: 'string', enum: sorts },
    rule: `must be one of ${sorts.join(', ')}`,
    read: (text) => (sorts.includes(text) ? text : undefined),
    check({ limit: _, ...variables }, texts) {
      const all = Object.entries(variables);
      if (all.length === 0 || (texts.has('sort') && variables.sort === undefined)) return [];
      return readList(declaration, variables, filterOf(declaration, variables, view), below).issues;
    },
  };
  const after: QueryParameter = {
    name: 'after',
    type: 'String',
    shared: true,
    description:
      'The last id already seen. 0 starts at the beginning. With another `sort` than `id`, the value from the `Link` to the page.',
    // Not `int64 or string`: generated Go clients cannot send a value of either type.
    schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: MAX_CURSOR_LENGTH },
    example: '0',
    rule: '',
    read: (text) => text,
  };
  const byText = prefixFields(declaration, view).map(([name, field]): QueryParameter => ({
    name,
    type: 'String',
    description: `Only ${declaration.plural} whose ${name} begins with this, regardless of case and accents. They are ordered by ${name}.`,
    schema: field.inputSchema ?? field.schema,
    example: String(field.example).slice(0, 2),
    rule: '',
    read: (text) => text,
  }));
  const byRange = rangesOf(declaration, view).flatMap(([field, declared]) =>
    boundNames(field).map((name, n): QueryParameter => {
      const which = `Only ${declaration.plural} whose ${field} is at ${n === 0 ? 'least' : 'most'} this.`;
      return {
        ...fieldParameter(name, `${which} They are ordered by ${field}.`, declared),
        bounds: field,
      };
    }),
  );
  return [...byText, ...byRange, sort, limit, after];
}

/** The rule that a value breaks, for messages. */
export const brokenRule = ({ rule }: Pick<QueryParameter, 'rule'>, text: string): string =>
  typeof rule === 'string' ? rule : rule(text);

/** An example of a parameter in a URL. */
const formOf = ({ name, repeatable }: QueryParameter): string =>
  repeatable ? `${name}=a&${name}=b` : `${name}=a`;

/**
 * Converts parameters to variables.
 *
 * @param issues collects issues with unknown, invalid, missing and repeated parameters
 * @param what the word for a parameter in messages
 * @param others names that are allowed but read elsewhere
 */
export function readTexts(
  received: ParameterTexts,
  parameters: readonly QueryParameter[],
  issues: Issue[],
  what = 'query parameter',
  others: readonly string[] = [],
): Record<string, unknown> {
  const variables: Record<string, unknown> = {};
  const allowed = [...others, ...parameters.map(({ name }) => name)];
  const unknown = [...received.keys()].filter((name) => !allowed.includes(name));
  const faults = unknownNames(unknown, what, allowed).map((issue) => {
    // PHP, axios and qs write lists as `name[]=a`.
    const name = /^([^[]+)\[\w*\]$/.exec(issue.path)?.[1];
    const meant = parameters.find((parameter) => parameter.name === name);
    return meant ? { ...issue, message: `must be written ${formOf(meant)}` } : issue;
  });
  for (const [name, texts] of received) {
    const parameter = parameters.find((candidate) => candidate.name === name);
    if (!parameter) continue;
    if (texts.length > 1 && !parameter.repeatable) {
      faults.push({ path: name, message: 'must not be repeated' });
      continue;
    }
    if (parameter.repeatable === 'distinct' && new Set(texts).size < texts.length) {
      faults.push({ path: name, message: 'must not have a value twice' });
      continue;
    }
    const values = texts.map(parameter.read);
    if (values.includes(undefined)) {
      const isJoined = parameter.repeatable && texts.some((text) => text.includes(','));
      const form = what === 'argument' ? 'a list' : formOf(parameter);
      const broken = brokenRule(parameter, texts[values.indexOf(undefined)]!);
      faults.push({ path: name, message: `${broken}${isJoined ? `; send several as ${form}` : ''}` });
    } else variables[name] = parameter.repeatable ? values : values[0];
  }
  for (const { name, required } of parameters)
    if (required && !received.has(name)) faults.push({ path: name, message: 'is required' });
  for (const { check } of parameters) faults.push(...(check?.(variables, received) ?? []));
  if (faults.length === 0) return variables;
  const names = [...received.keys()];
  issues.push(...faults.toSorted((a, b) => names.indexOf(a.path) - names.indexOf(b.path)));
  return variables;
}
