import type { z } from 'zod';
import { type Issue, validationFailed } from './errors.ts';
import { type Computed, type Field, isFolded, ownId, type Reference } from './fields.ts';
import type { Id } from './id.ts';
import { graphqlDialect, type InputDialect, inputObject } from './validation.ts';

export type Fields = Readonly<Record<string, Field>>;

/**
 * A kind of record with its fields, of which each fact is declared once. Interfaces, events and both engines are
 * derived from it.
 */
export interface RecordDeclaration<F extends Fields = Fields, Filters extends string = string> {
  /** One record, in messages, paths and event types: `pet`. */
  kind: string;
  /** Several of them, in messages and as the name of the table or collection: `pets`. */
  plural: string;
  /** The name of its GraphQL type and OpenAPI schema: `Pet`. */
  type: string;
  /** `An animal in the store.` */
  description: string;
  id: Field<Id, 'required'>;
  fields: F;
  /** Fields that are computed from the others whenever a record is shown. */
  computed: Readonly<Record<string, Computed>>;
  /** Rules over several fields: what is wrong with a record, whoever writes it. */
  rules: (record: never) => readonly Issue[];
  /** The fields that lists can be filtered by. */
  filters: readonly Filters[];
  /**
   * Which filters and references a list may have conditions on together, besides those of a part of these. By default
   * all, which are at most three: each order of a list has an index for each combination.
   */
  combinations: readonly (readonly (string & keyof F)[])[];
  /**
   * The fields that lists can be ordered by, apart from the id. Those that are texts can also be searched for by how
   * they begin; integers, instants and dates by a range, unless they are filters.
   */
  sorts: readonly (string & keyof F)[];
  /** Combinations of values that only one record may have, if it has all of them. */
  unique: readonly (readonly (string & keyof F)[])[];
  /** Whether clients may choose the id of a new record. By default it is assigned. */
  choosesId: boolean;
  /** The references to records of this kind, in the order of declaration. */
  referrers: Referrer[];
  /** Distinguishes declarations, for arrays with an entry for each. */
  index: number;
}

/** A field of a record that refers to another. */
export interface Referrer extends Reference {
  child: AnyRecord;
  parent: AnyRecord;
  field: string;
  list: string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- any declaration, whatever its fields
export type AnyRecord = RecordDeclaration<any, any>;

type Required<F extends Fields> = {
  [K in keyof F]: F[K]['presence'] extends 'optional' ? never : K;
}[keyof F];
type Optional<F extends Fields> = Exclude<keyof F, Required<F>>;
type Given<F extends Fields> = { [K in keyof F]: F[K]['presence'] extends 'required' ? K : never }[keyof F];
type ValueOf<F> = F extends Field<infer T> ? T : never;
type Flat<T> = { [K in keyof T]: T[K] };
type FieldsOf<R> = R extends RecordDeclaration<infer F, string> ? F : never;

type ValuesOf<F extends Fields> = { [K in Required<F>]: ValueOf<F[K]> } & {
  [K in Optional<F>]?: ValueOf<F[K]>;
};

/** A stored record. Absent values are left out. */
export type RecordOf<R extends AnyRecord> = Flat<{ id: Id } & ValuesOf<FieldsOf<R>>>;

/** The values of a new record. */
export type NewOf<R extends AnyRecord> = Flat<
  { id?: Id | undefined } & { [K in Given<FieldsOf<R>>]: ValueOf<FieldsOf<R>[K]> } & {
    [K in Exclude<keyof FieldsOf<R>, Given<FieldsOf<R>>>]?: ValueOf<FieldsOf<R>[K]> | undefined;
  }
>;

/** Changes to a record. Missing properties stay as they are; `null` removes an optional value. */
export type PatchOf<R extends AnyRecord> = Flat<
  { [K in Required<FieldsOf<R>>]?: ValueOf<FieldsOf<R>[K]> | undefined } & {
    [K in Optional<FieldsOf<R>>]?: ValueOf<FieldsOf<R>[K]> | null | undefined;
  }
>;

/** The condition that a text starts with another, both folded (`folded.ts`). */
export interface Prefix {
  prefix: string;
}

/** The condition that a value is in a range, which has its ends; one of them may be open. */
export interface Bounds<T = unknown> {
  min?: T | undefined;
  max?: T | undefined;
}

/** A condition that holds for one piece of the order by its field, in which a list with it is. */
export type OrderCondition = Prefix | Bounds;

export const isOrderCondition = (condition: unknown): condition is OrderCondition =>
  typeof condition === 'object' && condition !== null && !Array.isArray(condition);

export const isPrefix = (condition: unknown): condition is Prefix =>
  isOrderCondition(condition) && 'prefix' in condition;

/** Conditions on fields, all of which must match: a value, or a list of which any matches (and an empty one none). */
export type FilterOf<R extends AnyRecord> =
  R extends RecordDeclaration<infer F, infer Filters>
    ? { [K in Filters & keyof F]?: ValueOf<F[K]> | readonly ValueOf<F[K]>[] | undefined } & {
        [K in Exclude<keyof F, Filters>]?: Prefix | Bounds<ValueOf<F[K]>> | undefined;
      }
    : never;

/** The names of the fields that refer to other records. */
export type FieldNameOf<R extends AnyRecord> = keyof FieldsOf<R> & string;

let declared = 0;

/** All subsets. */
function subsetsOf([field, ...others]: readonly string[]): string[][] {
  if (field === undefined) return [[]];
  const sets = subsetsOf(others);
  return [...sets, ...sets.map((set) => [field, ...set])];
}

/**
 * Declares a kind of record. What is declared works over all interfaces and on both engines.
 *
 * @throws Error if something cannot work, with what to do about it
 */
export function declareRecord<
  const F extends Fields,
  const Filters extends string & keyof F = never,
  const C extends Readonly<Record<string, Computed>> = Record<never, never>,
>(
  declaration: Pick<RecordDeclaration<F, Filters>, 'kind' | 'plural' | 'type' | 'description' | 'fields'> &
    Partial<
      Pick<RecordDeclaration<F, Filters>, 'filters' | 'combinations' | 'sorts' | 'unique' | 'choosesId'>
    > & {
      /** The description of its id. */
      id?: string;
      computed?: C;
      rules?: (record: Flat<ValuesOf<F>>) => readonly Issue[];
    },
): RecordDeclaration<F, Filters> & { computed: C } {
  const { type, combinations } = declaration;
  const record = {
    ...{ computed: {} as C, rules: () => [], filters: [], sorts: [], unique: [], choosesId: false },
    ...declaration,
    ...{ id: ownId(declaration.id ?? 'Unique identifier, assigned on creation'), combinations: [] },
    ...{ referrers: [], index: declared++ },
  } as unknown as RecordDeclaration<F, Filters> & { computed: C };
  const filtered = filteredFields(record as AnyRecord);
  const together = combinations ?? [filtered];
  const sets = [[], ...filtered.map((field) => [field]), ...together.flatMap(subsetsOf)];
  // In the order of the declaration.
  const ordered = sets.map((set) => Object.keys(record.fields).filter((field) => set.includes(field)));
  record.combinations = [...new Map(ordered.map((set) => [String(set), set])).values()];
  for (const fault of faultsOf(record as AnyRecord, combinations !== undefined))
    throw new Error(type + fault);
  for (const reference of referencesOf(record as AnyRecord)) reference.parent.referrers.push(reference);
  return record;
}

/** Characters of a text that lists can be ordered by: cursors hold it, and databases index it. */
const MAX_SORTED_LENGTH = 200;
/** Databases index a collection 64 times at most, and each index is written with each record. */
const MAX_INDEXES = 60;
/** A page by several values of several fields merges as many ranges of an index as they have combinations. */
const MAX_MERGED = 64;
/** How many filters a list may have without saying which go together: each doubles the indexes. */
const MAX_FREE_FILTERS = 3;

/** What interfaces and engines use themselves: for fields, arguments of lists, and names and paths. */
const FIELDS = new Set(['id', 'nodeId', 'idempotencyKey']);
const PARAMETERS = new Set(['sort', 'limit', 'after', 'filter', 'first', 'last', 'before']);
export const RESERVED: ReadonlySet<string> = new Set(
  'events webhooks usage usageHistory documents ids keys key apiKey apiKeys idempotency outcomes counts counted counters layout locks sessions instances imports loads values parent given node nodes rateLimit health docs graphql mcp metrics console guides'.split(
    ' ',
  ),
);

/** The name that a field has where names are in snake case. */
export const snakeCase = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * What is wrong with a record that TypeScript cannot see, and what to do about it. What is about one field begins with
 * its name, as `.name`.
 *
 * @param saysTogether whether the declaration says which filters go together
 */
function* faultsOf(record: RecordDeclaration, saysTogether: boolean): Generator<string> {
  const { type, kind, plural } = record;
  const fields = Object.entries(record.fields);
  const references = referencesOf(record);

  if (!/^[A-Z][A-Za-z0-9]*$/.test(type)) yield ': a type is called like Pet or VetVisit.';
  for (const name of [kind, plural]) {
    if (!/^[a-z][A-Za-z0-9]*$/.test(name)) yield `: ${name} must be written like pet or vetVisits.`;
    if (RESERVED.has(name)) yield `: ${name} is a name of the gateway itself; choose another.`;
  }
  if (kind === plural) yield `: kind and plural are both ${kind}; give it two names, as pet and pets.`;

  if (fields.every(([, { view }]) => view !== undefined)) yield ': needs at least one field of its own.';
  const columns = new Map<string, string>([['id', 'id']]);
  for (const [name, field] of [...fields, ...Object.entries(record.computed)]) {
    if (!/^[a-z][A-Za-z0-9]*$/.test(name) || name in {})
      yield `.${name}: a field is called like name or petId.`;
    if (FIELDS.has(name) || name === `${kind}Id`)
      yield `.${name}: interfaces use this name themselves; choose another.`;
    const names = record.sorts.includes(name) && isFolded(field) ? [name, `${name}_folded`] : [name];
    for (const column of names.map(snakeCase)) {
      const other = columns.get(column);
      if (other !== undefined)
        yield `.${name}: its column has the name of that of ${other}; choose another name.`;
      columns.set(column, name);
    }
  }

  for (const [name, field] of fields) {
    const { rule, view, presence, maxItems, opaque } = field;
    if (maxItems !== undefined || opaque)
      yield `.${name}: is a list or an opaque id, which no engine stores in a record; make it a record of its own or a text.`;
    if (view !== undefined && presence === 'required')
      yield `.${name}: belongs to ${view}, so new records need a default for it.`;
    const given = {
      ...(field.kind !== 'id' && { example: field.example }),
      ...(presence === 'defaulted' && { default: field.default }),
    };
    for (const [what, value] of Object.entries(given)) {
      const { error } = rule(graphqlDialect).safeParse(value);
      if (error)
        yield `.${name}: its ${what} ${JSON.stringify(value)} breaks its rule: ${error.issues[0]!.message}.`;
    }
  }
  for (const [n, { field, parent, list, where }] of references.entries()) {
    if (!/.Id$/.test(field)) yield `.${field}: refers to another record, so its name ends in Id, as petId.`;
    const leadsTo = parentField(field);
    if (leadsTo in record.fields || leadsTo in record.computed)
      yield `.${leadsTo}: is what ${field} leads to; choose another name.`;
    for (const [other, wanted] of Object.entries(where ?? {}))
      if (!record.fields[other]?.rule(graphqlDialect).safeParse(wanted).success)
        yield `.${field}: in its \`where\`, ${other} cannot be ${JSON.stringify(wanted)}.`;
    const siblings = references.slice(0, n).filter((other) => other.parent === parent);
    const taken = [
      ...Object.keys({ ...parent.fields, ...parent.computed }),
      ...[...parent.referrers, ...siblings].map(({ list }) => list),
      ...referencesOf(parent).map(({ field }) => parentField(field)),
    ];
    if (taken.includes(list))
      yield `.${field}: ${parent.type} has a field ${list} already; say in \`list\` what its list of ${plural} is called.`;
  }

  for (const list of [record.filters, record.sorts, ...record.unique])
    if (new Set(list).size < list.length) yield `: ${list.join(', ')}: a list names each field once.`;
  if (record.unique.some(({ length }) => length === 0)) yield ': what is unique has at least one field.';
  for (const name of record.sorts) {
    const field = record.fields[name]!;
    if (isFolded(field) && (field.maxLength ?? Number.POSITIVE_INFINITY) > MAX_SORTED_LENGTH)
      yield `.${name}: a text in \`sorts\` has at most ${MAX_SORTED_LENGTH} characters; shorten it or take it out.`;
    if (isFolded(field) && record.filters.includes(name))
      yield `.${name}: a text in \`sorts\` is found by how it begins; take it out of \`filters\`.`;
  }
  const bounds = record.sorts.filter((name) => hasRange(record, name)).flatMap<string>(boundNames);
  for (const name of [...record.filters, ...record.sorts])
    if (PARAMETERS.has(name) || bounds.includes(name))
      yield `.${name}: lists have an argument of this name; choose another.`;

  const filtered = filteredFields(record);
  if (!saysTogether && filtered.length > MAX_FREE_FILTERS)
    yield `: lists can be filtered by ${filtered.join(', ')}, more than ${MAX_FREE_FILTERS}; say in \`combinations\` which go together.`;
  for (const name of record.combinations.flat())
    if (!filtered.includes(name)) yield `.${name}: is in \`combinations\`, but not in \`filters\`.`;
  const indexes = record.combinations.length * (record.sorts.length + 1) + record.unique.length;
  if (indexes > MAX_INDEXES)
    yield `: needs ${indexes} indexes, more than ${MAX_INDEXES}; take out sorts, filters or combinations.`;
  for (const set of record.combinations) {
    const merged = set.reduce((n, name) => n * (record.fields[name]!.choices?.values.length ?? 1), 1);
    if (merged > MAX_MERGED)
      yield `: ${set.join(', ')} have ${merged} combinations of values, more than ${MAX_MERGED}; leave them out of \`combinations\`.`;
  }
}

/** The fields that lists of a record can have conditions on: its filters, and references, for lists below a parent. */
export const filteredFields = (record: AnyRecord): readonly string[] => [
  ...new Set([...record.filters, ...referencesOf(record).map(({ field }) => field)]),
];

/** Whether lists of a record can be asked for a range of a field, by the index for its order. */
export const hasRange = ({ fields, sorts, filters }: AnyRecord, name: string): boolean =>
  sorts.includes(name) &&
  !filters.includes(name) &&
  ['integer', 'instant', 'date'].includes((fields as Fields)[name]!.kind);

/** What parameters for the ends of a field's range are called. */
export const boundNames = (field: string) => [`${field}Min`, `${field}Max`] as const;

/** The references of a record. */
export const referencesOf = (child: AnyRecord): readonly Referrer[] =>
  Object.entries(child.fields as Fields).flatMap(([field, { reference }]) =>
    reference
      ? { child, field, list: child.plural, ...(reference as Reference & { parent: AnyRecord }) }
      : [],
  );

/** The GraphQL field with the parent that a reference leads to: `pet` of `petId`. */
export const parentField = (field: string): string => field.replace(/Id$/, '');

/** Whether a child holds off the deletion of its parent. */
export const isHolding = ({ where = {} }: Reference, child: object): boolean =>
  where !== null &&
  Object.entries(where).every(([field, value]) => (child as Record<string, unknown>)[field] === value);

/** The references that can hold off the deletion of a record, in an order that does not depend on that of imports. */
export const holdersOf = ({ referrers }: AnyRecord): readonly Referrer[] =>
  referrers
    .filter(({ where }) => where !== null)
    .toSorted((a, b) => (holdersName(a) < holdersName(b) ? -1 : 1));

/** What holds off the deletion of a record: `incomplete orders`. */
export const holdersName = ({ child, name = child.plural }: Referrer): string => name;

/**
 * Checks the values of a record as they would be after a write.
 *
 * @throws VALIDATION_FAILED if they break the rules over several fields
 */
export function checkRules({ rules }: AnyRecord, values: object): void {
  const issues = rules(values as never);
  if (issues.length > 0) throw validationFailed(issues);
}

/** What is given to create a record and to change one. */
export interface Inputs extends Pick<AnyRecord, 'kind' | 'plural' | 'type' | 'choosesId'> {
  fields: Fields;
  /** Those that may be changed, by default the same. */
  changeable?: Fields;
}

/** The rules for a new record. @param fields those that may be given @param choosesId whether its id may be too */
export const newRules = (fields: Fields, dialect: InputDialect, choosesId: boolean): z.ZodObject => {
  const rules = Object.entries(fields).map(([name, field]): [string, z.ZodType] => {
    const rule = field.rule(dialect);
    if (field.presence === 'required') return [name, rule];
    const optional = dialect.optional(rule);
    if (field.presence === 'optional') return [name, optional];
    return [name, optional.transform((value) => value ?? field.default)];
  });
  const id: [string, z.ZodType][] = choosesId ? [['id', dialect.optional(dialect.id)]] : [];
  return inputObject(Object.fromEntries([...id, ...rules]));
};

/** The rules for changes to a record. @param fields those that may be changed */
export const patchRules = (fields: Fields, dialect: InputDialect): z.ZodObject =>
  inputObject(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => {
        const rule = field.rule(dialect);
        return [name, (field.presence === 'optional' ? rule.nullable() : rule).optional()];
      }),
    ),
  );

/** The fields that belong to the record's own domain. */
export const inputFields = ({ fields }: AnyRecord): Fields =>
  Object.fromEntries(Object.entries(fields as Fields).filter(([, { view }]) => view === undefined));
