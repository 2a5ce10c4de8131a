import { decodeCursor, encodeCursor, type Position, type SortValue } from '../foundation/cursor.ts';
import type { Issue } from '../foundation/errors.ts';
import type { Field, FieldKind } from '../foundation/fields.ts';
import { isFolded } from '../foundation/fields.ts';
import { folded } from '../foundation/folded.ts';
import { type Id, parseId } from '../foundation/id.ts';
import { parseInstant } from '../foundation/instant.ts';
import { lruCache } from '../foundation/lru.ts';
import { memoized } from '../foundation/memoized.ts';
import type { AnyRecord, Fields, Prefix } from '../foundation/record.ts';
import { graphqlDialect } from '../foundation/validation.ts';
import { withRule } from './argument-rules.ts';

/** An order that a client can choose. */
export interface Sort {
  /** As REST has it: `name`, or `-name` if it is descending. Cursors name it too. */
  name: string;
  /** Undefined for the id. */
  field: string | undefined;
  descending: boolean;
}

/** Options of a text in a filter that records are found by: how a field begins. */
export const finder = (record: AnyRecord, field: string) => ({
  description: `Those whose ${field} begins with this, regardless of case and accents, ${(record.fields as Fields)[field]!.limits}. They are ordered by ${field}.`,
});

const ID_SORTS: readonly Sort[] = [
  { name: 'id', field: undefined, descending: false },
  { name: '-id', field: undefined, descending: true },
];

export const DEFAULT_SORT = ID_SORTS[0]!;

/** The fields of a record, or of a view of it, that its lists can be ordered by. */
const fieldsOf = ({ fields, sorts }: AnyRecord, view: string | undefined): [name: string, Field][] =>
  Object.entries(fields as Fields).filter(([name, field]) => sorts.includes(name) && field.view === view);

/** The orders of a record's lists, or of those of a view of it. */
export const sortsOf = (record: AnyRecord, view?: string): readonly Sort[] => [
  ...ID_SORTS,
  ...fieldsOf(record, view).flatMap(([field]) => bothOf(field)),
];

/** The texts that records can be found by: how they begin. */
export const findersOf = (record: AnyRecord, view?: string): readonly [name: string, Field][] =>
  fieldsOf(record, view).filter(([, field]) => isFolded(field));

const enumName = (field: string, descending: boolean): string => `${field}_${descending ? 'desc' : 'asc'}`;

/** Options of the enum of a list's orders: `name_asc`, `name_desc` and the like. */
export const sortEnum = (record: AnyRecord, view?: string) => ({
  description:
    'An order of a list. Equal values are ordered by id in the same direction; absent ones come last.',
  values: Object.fromEntries(
    sortsOf(record, view).map(({ name, field = 'id', descending }) => [
      enumName(field, descending),
      { value: name, description: `By ${field}, ${descending ? 'descending' : 'ascending'}.` },
    ]),
  ),
});

/** The order of a list. Records that are found by a text are ordered by it. */
export const sortFor = (
  record: AnyRecord,
  given: string | null | undefined,
  finder: string | undefined,
): Sort => {
  const name = given ?? finder ?? DEFAULT_SORT.name;
  if (name === DEFAULT_SORT.name) return DEFAULT_SORT;
  return [...ID_SORTS, ...record.sorts.flatMap(bothOf)].find((sort) => sort.name === name) ?? DEFAULT_SORT;
};

const bothOf = (field: string): Sort[] => [
  { name: field, field, descending: false },
  { name: `-${field}`, field, descending: true },
];

/** The rule for the order of a list in which records are found by a text. */
export const finderRule = (finder: string): string =>
  `must be ${finder} or -${finder} together with \`${finder}\``;

/** The rule of a field, built once, since that takes 50 microseconds and kilobytes that live on. */
const ruleOf = memoized((field: Field) => field.rule(graphqlDialect));

/** The condition on a text that records are found by; null if the text breaks its rule. */
export function prefixOf(field: Field, text: string): Prefix | null {
  const checked = ruleOf(field).safeParse(text);
  return checked.success ? { prefix: folded(checked.data as string) } : null;
}

/** Cursors belong to one order of one kind of records. */
const listName = ({ plural }: AnyRecord, { name }: Sort): string => `${plural} ${name}`;

/** The cursor of a record, which is its id in a list ordered by ascending id. */
export function cursorOf(record: AnyRecord, sort: Sort, item: { readonly id: Id }): string {
  if (sort.name === DEFAULT_SORT.name) return item.id;
  const values = item as unknown as Readonly<Record<string, SortValue | undefined>>;
  const value = sort.field === undefined ? null : (values[sort.field] ?? null);
  return encodeCursor(listName(record, sort), { id: item.id, value });
}

/** Whether a value is of a kind. Its rule may have become stricter since the list was read. */
const IS_VALUE: Readonly<Record<FieldKind, (value: unknown) => boolean>> = {
  id: (value) => typeof value === 'string' && parseId(value) !== null,
  integer: Number.isSafeInteger,
  boolean: (value) => typeof value === 'boolean',
  text: (value) => typeof value === 'string',
  instant: (value) => typeof value === 'string' && parseInstant(value) !== null,
  date: (value) => typeof value === 'string',
};

/** The latest cursors, decoded: a list below each of a hundred records is asked for at the same place. */
const positions = lruCache<Position>(1_000);

/** The place that a cursor is for; null unless it is one of a list with this order. */
export function positionOf(record: AnyRecord, sort: Sort, cursor: string): Position | null {
  const { name, field } = sort;
  if (name === DEFAULT_SORT.name) return parseId(cursor) === null ? null : { id: cursor, value: null };
  const list = listName(record, sort);
  const key = `${list} ${cursor}`;
  const known = positions.get(key);
  if (known) return known;
  const kind = field === undefined ? undefined : (record.fields as Fields)[field]!.kind;
  const position = decodeCursor(
    list,
    cursor,
    (value) => value === null || (kind !== undefined && IS_VALUE[kind](value)),
  );
  if (position) positions.set(key, position);
  return position;
}

/** The arguments of a list that depend on its order. */
interface ListArguments {
  after?: string | null | undefined;
  before?: string | null | undefined;
  sort?: string | null | undefined;
}

/**
 * Reads what depends on the order of a list.
 *
 * @param given the filter as clients give it, with the beginning of a text that records are found by
 * @returns the filter as the store takes it; the issues are cursors of another order or that were changed, and
 * texts that break their rule or go with another order
 */
export function readList(
  record: AnyRecord,
  { after, before, sort: wanted }: ListArguments,
  given: Readonly<Record<string, unknown>>,
) {
  const issues: Issue[] = [];
  let filter = given;
  let finder: string | undefined;
  for (const name of record.sorts) {
    const text = given[name];
    const field = (record.fields as Fields)[name]!;
    if (typeof text !== 'string' || !isFolded(field)) continue;
    finder = name;
    const prefix = prefixOf(field, text);
    if (prefix) filter = { ...filter, [name]: prefix };
    else issues.push({ path: name, message: `must have ${field.limits}, without control characters` });
  }
  const sort = sortFor(record, wanted, finder);
  if (finder !== undefined && sort.field !== finder)
    issues.push({ path: 'sort', message: finderRule(finder) });
  const place = (path: string, cursor: string | null | undefined): Position | undefined => {
    if (cursor == null) return undefined;
    const position = positionOf(record, sort, cursor);
    if (!position) issues.push({ path, message: 'must be a cursor from this list' });
    return position ?? undefined;
  };
  return {
    sort,
    filter,
    after: after === '0' ? undefined : place('after', after),
    before: place('before', before),
    issues,
  };
}

/** Options of the argument `sort` of a list, whose rule holds before anything runs. */
export const sortArgument = (record: AnyRecord) => ({
  description: [
    'The order of the list; `id_asc` by default',
    ...findersOf(record).map(([name]) => `by ${name} if the filter has it`),
  ]
    .join(', or ')
    .concat('.'),
  extensions: withRule(
    (args: ListArguments & { filter?: Readonly<Record<string, unknown>> | null }) =>
      readList(record, args, args.filter ?? {}).issues,
  ),
});
