import { memoized } from '../foundation/cache.ts';
import { decodeCursor, encodeCursor, type Position, type SortValue } from '../foundation/cursor.ts';
import type { Issue } from '../foundation/errors.ts';
import { type Field, type FieldKind, isFolded } from '../foundation/fields.ts';
import { folded } from '../foundation/folded.ts';
import { type Id, MAX_INT64, MIN_INT64, parseId, parseInt64 } from '../foundation/id.ts';
import { parseInstant } from '../foundation/instant.ts';
import { type AnyDeclaration, type Bounds, type Fields, hasRange } from '../foundation/record.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import { listed } from '../foundation/words.ts';
import { withRule } from './arguments.ts';

/** An order of a list. */
export interface Sort {
  /** The name over REST: `name`, or `-name` if descending. */
  name: string;
  /** Undefined for the id. */
  field: string | undefined;
  descending: boolean;
}

function sortCalled(name: string): Sort {
  const field = name.replace(/^-/, '');
  return { name, field: field === 'id' ? undefined : field, descending: field !== name };
}

export const DEFAULT_SORT = sortCalled('id');

/** The fields of a record or of its view that lists can be ordered by. */
const sortedFields = ({ fields, sorts }: AnyDeclaration, view: string | undefined): [name: string, Field][] =>
  Object.entries(fields as Fields).filter(([name, field]) => sorts.includes(name) && field.view === view);

/** The orders of the lists of a record or of its view. */
export const sortsOf = (declaration: AnyDeclaration, view?: string): readonly Sort[] =>
  ['id', ...sortedFields(declaration, view).map(([name]) => name)].flatMap((name) => [
    sortCalled(name),
    sortCalled(`-${name}`),
  ]);

/** The texts that records can be searched by, by prefix. */
export const prefixFields = (declaration: AnyDeclaration, view?: string): readonly [name: string, Field][] =>
  sortedFields(declaration, view).filter(([, field]) => isFolded(field));

/** The fields that lists can be filtered by, by range. */
export const rangesOf = (declaration: AnyDeclaration, view?: string): readonly [name: string, Field][] =>
  sortedFields(declaration, view).filter(([name]) => hasRange(declaration, name));

/** Options of a filter by prefix. */
export const prefixOptions = (declaration: AnyDeclaration, field: string) => ({
  description: `Those whose ${field} begins with this, regardless of case and accents, ${(declaration.fields as Fields)[field]!.limits}. They are ordered by ${field}.`,
});

/** Options of the enum of a list's orders, such as `name_asc`. */
export const sortEnum = (declaration: AnyDeclaration, view?: string) => ({
  description:
    'An order of a list. Equal values are ordered by id in the same direction; absent ones come last.',
  values: Object.fromEntries(
    sortsOf(declaration, view).map(({ name, field = 'id', descending }) => [
      `${field}_${descending ? 'desc' : 'asc'}`,
      { value: name, description: `By ${field}, ${descending ? 'descending' : 'ascending'}.` },
    ]),
  ),
});

/** The requested ends of a range in canonical form; undefined if both are open. */
function readBounds(name: string, field: Field, ends: Bounds, issues: Issue[]): Bounds | undefined {
  const bounds: Bounds = {};
  for (const end of ['min', 'max'] as const) {
    if (ends[end] == null) continue;
    const { data, error } = ruleOf(field).safeParse(ends[end]);
    if (error) issues.push({ path: `${name}.${end}`, message: error.issues[0]!.message });
    // An open end would be a different list.
    bounds[end] = error ? ends[end] : data;
  }
  return 'min' in bounds || 'max' in bounds ? bounds : undefined;
}

/** The name of a list in cursors, which belong to one order of one kind of record. */
const listName = ({ plural }: AnyDeclaration, { name }: Sort): string => `${plural} ${name}`;

/** The cursor of a record: its id in the default order, else opaque text. */
export function cursorOf(declaration: AnyDeclaration, sort: Sort, item: { readonly id: Id }): string {
  if (sort === DEFAULT_SORT) return item.id;
  const values = item as unknown as Readonly<Record<string, SortValue | undefined>>;
  const value = sort.field === undefined ? null : (values[sort.field] ?? null);
  return encodeCursor(listName(declaration, sort), { id: item.id, value });
}

/** True if a value in a cursor has the kind of its field, whose rule may have become stricter. */
const IS_VALUE: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  id: (value) => typeof value === 'string' && parseId(value) !== null,
  bigInteger: (value) => typeof value === 'string' && parseInt64(value, MIN_INT64, MAX_INT64) !== null,
  integer: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
  text: (value) => typeof value === 'string',
  instant: (value) => typeof value === 'string' && parseInstant(value) !== null,
  date: (value) => typeof value === 'string',
};

/** The position of a cursor; null if it isn't one of a list in this order. */
function positionOf(declaration: AnyDeclaration, sort: Sort, cursor: string): Position | null {
  if (sort === DEFAULT_SORT) return parseId(cursor) === null ? null : { id: cursor, value: null };
  const kind = sort.field === undefined ? undefined : (declaration.fields as Fields)[sort.field]!.kind;
  const isValue = (value: unknown) => value === null || (kind !== undefined && IS_VALUE[kind](value));
  return decodeCursor(listName(declaration, sort), cursor, isValue);
}

/** The rule of a field in GraphQL, built once, since that takes 50 µs and kilobytes. */
export const ruleOf = memoized((field: Field) => field.rule(graphqlDialect));

/** A filter as sent; null means absent. */
export type RequestedFilter = Readonly<Record<string, unknown>>;

/** The arguments of a list. */
export interface ConnectionArguments {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
  /** The name of an order. */
  sort?: string | null | undefined;
  filter?: RequestedFilter | null | undefined;
}

/**
 * Reads the arguments of a list, alike for all interfaces.
 *
 * @param below the field that refers to the parent, for a list below one
 * @param by fields to count records by
 * @returns the request to the store, and issues: values that break their rule, filters that cannot be combined, and
 * cursors of other lists
 */
export function readList(
  declaration: AnyDeclaration,
  { after, before, sort: wanted }: Pick<ConnectionArguments, 'after' | 'before' | 'sort'>,
  requested: RequestedFilter,
  below?: string,
  by: readonly string[] = [],
) {
  const issues: Issue[] = [];
  const filter: Record<string, unknown> = {};
  const filtered = below === undefined ? [...by] : [below];
  /** The field with an order condition, whose order the list has. */
  let ordering: string | undefined;
  const find = (name: string) => {
    if (ordering !== undefined) issues.push({ path: name, message: `must not be combined with ${ordering}` });
    ordering ??= name;
  };
  for (const name in requested) {
    const value = requested[name];
    if (value == null) continue;
    const field = (declaration.fields as Fields)[name]!;
    const { choices } = field;
    if (choices && Array.isArray(value)) {
      // In canonical order, so that equal filters share counts and caches. One that excludes nothing needs no index.
      const values = choices.values.filter((choice) => value.includes(choice));
      if (values.length === choices.values.length && field.presence !== 'optional') continue;
      filter[name] = values;
      filtered.push(name);
      continue;
    }
    if (hasRange(declaration, name)) {
      const bounds = readBounds(name, field, value as Bounds, issues);
      if (!bounds) continue;
      find(name);
      filter[name] = bounds;
      continue;
    }
    const { data, error } = ruleOf(field).safeParse(value);
    if (error) issues.push({ path: name, message: error.issues[0]!.message });
    if (!declaration.sorts.includes(name) || !isFolded(field)) {
      filter[name] = data;
      filtered.push(name);
    } else {
      find(name);
      const prefix = error ? '' : folded(data as string);
      if (!error && prefix === '')
        issues.push({ path: name, message: 'must have more than accents and other marks' });
      filter[name] = { prefix };
    }
  }
  if (filtered.length > 1) {
    const set = Object.keys(declaration.fields).filter((name) => filtered.includes(name));
    if (!declaration.combinations.some((together) => String(together) === String(set)))
      issues.push({
        path: set.at(-1)!,
        message: `cannot be combined with ${listed(set.slice(0, -1), 'and')}`,
      });
  }

  const name = wanted ?? ordering ?? DEFAULT_SORT.name;
  const sort = name === DEFAULT_SORT.name ? DEFAULT_SORT : sortCalled(name);
  if (ordering !== undefined && sort.field !== ordering)
    issues.push({ path: 'sort', message: `must be by ${ordering} when the list is filtered by ${ordering}` });
  const checked = (path: string, cursor: string | null | undefined): Position | undefined => {
    // 0 precedes the first id.
    if (cursor == null || (path === 'after' && cursor === '0')) return undefined;
    const position = positionOf(declaration, sort, cursor);
    if (!position)
      issues.push({
        path,
        message:
          sort === DEFAULT_SORT
            ? `must be an integer from ${path === 'after' ? 0 : 1} to ${MAX_INT64}`
            : 'must come from a page of this list with the same sort',
      });
    return position ?? undefined;
  };
  return { sort, filter, after: checked('after', after), before: checked('before', before), issues };
}

/** Options of the argument `sort` of a list, with the rule for all its arguments. */
export const sortArgument = (declaration: AnyDeclaration, view?: string, below?: string) => ({
  description: [
    'The order of the list; `id_asc` by default',
    ...[...prefixFields(declaration, view), ...rangesOf(declaration, view)].map(
      ([name]) => `by ${name} if the filter has it`,
    ),
  ]
    .join(', or ')
    .concat('.'),
  extensions: withRule(
    (args: ConnectionArguments) => readList(declaration, args, args.filter ?? {}, below).issues,
  ),
});
