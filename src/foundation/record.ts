import { memoized } from './cache.ts';
import { listed } from './words.ts';
import { type ChangeKind, type Issue, type Refusal, validationFailed } from './errors.ts';
import type { Computed, Field, Reference } from './fields.ts';
import type { Id } from './id.ts';

export type Fields = Readonly<Record<string, Field>>;

/** A kind of record with its fields: the single source of its interfaces, events and storage on both engines. */
export interface RecordDeclaration<F extends Fields = Fields, Filters extends string = string> {
  /** The name of one record, in messages, paths and event types: `pet`. */
  kind: string;
  /** The plural in messages, and the name of the table or collection: `pets`. */
  plural: string;
  /** The name of its GraphQL type and OpenAPI schema: `Pet`. */
  type: string;
  /** `An animal in the store.` */
  description: string;
  id: Field<Id, 'required'>;
  fields: F;
  /** Fields that are computed from the others whenever a record is shown. */
  computed: Readonly<Record<string, Computed>>;
  /** Validates several fields together, on every write. Returns the problems with the record. */
  rules: (record: never) => readonly Issue[];
  /** The rules that need or write other records. */
  hooks: AnyHooks | undefined;
  /** The fields that lists can be filtered by. */
  filters: readonly Filters[];
  /**
   * The sets of filters and references that a list may combine, as may their subsets. By default all of them, at most
   * three: each order of a list has an index for each combination.
   */
  combinations: readonly (readonly (string & keyof F)[])[];
  /**
   * The fields that lists can be ordered by, besides the id. They can be searched too: texts by prefix, integers,
   * instants and dates by range unless they are filters.
   */
  sorts: readonly (string & keyof F)[];
  /** Combinations of fields that must be unique among the records that have all of them. */
  unique: readonly (readonly (string & keyof F)[])[];
  /** True if clients may choose the id of a new record; by default it is assigned. */
  choosesId: boolean;
  /** The number of the declaration, an index into arrays with an entry per declaration. */
  index: number;
}

/** The functions that run before and after a change of a record: see `Hooks` of table.ts. */
export interface AnyHooks {
  before?(change: never, tables: never): void | Promise<void>;
  after?(change: never, tables: never): void | Promise<void>;
  /** All refusals that these functions throw. */
  refusals?: readonly Refusal[];
}

/** The refusals by a record's hooks for a kind of change. */
export const refusalsOf = (
  { hooks }: Pick<AnyDeclaration, 'hooks'>,
  change: ChangeKind,
): readonly Refusal[] => hooks?.refusals?.filter(({ of }) => of.includes(change)) ?? [];

/** A field of a record that refers to another. */
export interface Referrer extends Reference {
  child: AnyDeclaration;
  parent: AnyDeclaration;
  field: string;
  list: string;
}

// oxlint-disable-next-line typescript/no-explicit-any -- any declaration, whatever its fields
export type AnyDeclaration = RecordDeclaration<any, any>;

type Required<F extends Fields> = {
  [K in keyof F]: F[K]['presence'] extends 'optional' ? never : K;
}[keyof F];
type Optional<F extends Fields> = Exclude<keyof F, Required<F>>;
type RequiredKeys<F extends Fields> = {
  [K in keyof F]: F[K]['presence'] extends 'required' ? K : never;
}[keyof F];
type ValueOf<F> = F extends Field<infer T> ? T : never;
export type Flat<T> = { [K in keyof T]: T[K] };
type FieldsOf<R> = R extends RecordDeclaration<infer F, string> ? F : never;

export type ValuesOf<F extends Fields> = { [K in Required<F>]: ValueOf<F[K]> } & {
  [K in Optional<F>]?: ValueOf<F[K]>;
};

/** A stored record. Absent values are left out. */
export type RecordOf<R extends AnyDeclaration> = Flat<{ id: Id } & ValuesOf<FieldsOf<R>>>;

/** The values of a new record. */
export type NewOf<R extends AnyDeclaration> = Flat<
  { id?: Id | undefined } & { [K in RequiredKeys<FieldsOf<R>>]: ValueOf<FieldsOf<R>[K]> } & {
    [K in Exclude<keyof FieldsOf<R>, RequiredKeys<FieldsOf<R>>>]?: ValueOf<FieldsOf<R>[K]> | undefined;
  }
>;

/** Changes to a record. Missing properties stay as they are; `null` removes an optional value. */
export type PatchOf<R extends AnyDeclaration> = Flat<
  { [K in Required<FieldsOf<R>>]?: ValueOf<FieldsOf<R>[K]> | undefined } & {
    [K in Optional<FieldsOf<R>>]?: ValueOf<FieldsOf<R>[K]> | null | undefined;
  }
>;

/** A condition on the prefix of a text, both folded (`folded.ts`). */
export interface Prefix {
  prefix: string;
}

/** A condition on the range of a value, inclusive; one end may be open. */
export interface Bounds<T = unknown> {
  min?: T | undefined;
  max?: T | undefined;
}

/** A condition that selects a contiguous range of the order by its field. Lists with it have that order. */
export type OrderCondition = Prefix | Bounds;

export const isOrderCondition = (condition: unknown): condition is OrderCondition =>
  typeof condition === 'object' && condition !== null && !Array.isArray(condition);

export const isPrefix = (condition: unknown): condition is Prefix =>
  isOrderCondition(condition) && 'prefix' in condition;

/** Conditions on fields, all of which must match: a value, or a list of alternatives (empty: matches nothing). */
export type FilterOf<R extends AnyDeclaration> =
  R extends RecordDeclaration<infer F, infer Filters>
    ? { [K in Filters & keyof F]?: ValueOf<F[K]> | readonly ValueOf<F[K]>[] | undefined } & {
        [K in Exclude<keyof F, Filters>]?: Prefix | Bounds<ValueOf<F[K]>> | undefined;
      }
    : never;

/** The names of the fields that refer to other records. */
export type FieldNameOf<R extends AnyDeclaration> = keyof FieldsOf<R> & string;

/** The name of a field in snake case. */
export const snakeCase = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The fields that lists can be filtered by: the declared filters, and references, for lists below a parent. */
export const filteredFields = (declaration: AnyDeclaration): readonly string[] => [
  ...new Set([...declaration.filters, ...referencesOf(declaration).map(({ field }) => field)]),
];

/** Pairs of former and current field names. */
export const formerNames = ({
  fields,
}: AnyDeclaration): readonly (readonly [former: string, name: string])[] =>
  Object.entries(fields as Fields).flatMap(([name, { formerly }]) => (formerly ? [[formerly, name]] : []));

/** Renames the values of a record written under an earlier declaration. */
export function renamed<V extends object>(declaration: AnyDeclaration, values: V): V {
  const names = new Map(formerNames(declaration));
  if (names.size === 0) return values;
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [names.get(name) ?? name, value]),
  ) as V;
}

/** The fields that records can be grouped and counted by: filters that every record has a value for. */
export const groupedFields = ({ fields, filters }: AnyDeclaration): readonly string[] =>
  filters.filter((name: string) => (fields as Fields)[name]!.presence !== 'optional');

/** True if lists can be restricted to a range of a field, using the index for its order. */
export const hasRange = ({ fields, sorts, filters }: AnyDeclaration, name: string): boolean =>
  sorts.includes(name) &&
  !filters.includes(name) &&
  ['integer', 'bigInteger', 'instant', 'date'].includes((fields as Fields)[name]!.kind);

/** The names of the parameters for the ends of a field's range. */
export const boundNames = (field: string) => [`${field}Min`, `${field}Max`] as const;

/** The references of a record. */
export const referencesOf = memoized((child: AnyDeclaration): readonly Referrer[] =>
  Object.entries(child.fields as Fields).flatMap(([field, { reference }]) =>
    reference
      ? { child, field, list: child.plural, ...(reference as Reference & { parent: AnyDeclaration }) }
      : [],
  ),
);

/** The GraphQL field for the parent of a reference: `pet` for `petId`. */
export const parentField = (field: string): string => field.replace(/Id$/, '');

/** True if a child blocks the deletion of its parent. */
export const blocksDeletion = ({ where = {} }: Reference, child: object): boolean =>
  where !== null &&
  Object.entries(where).every(([field, value]) => (child as Record<string, unknown>)[field] === value);

/** The references of `records` that lead to `record`. */
export const referrersOf = (
  declarations: readonly AnyDeclaration[],
  declaration: AnyDeclaration,
): readonly Referrer[] => declarations.flatMap(referencesOf).filter(({ parent }) => parent === declaration);

/** The references that can block a record's deletion, sorted by the name of the blocking records. */
export const blockersOf = (
  declarations: readonly AnyDeclaration[],
  declaration: AnyDeclaration,
): readonly Referrer[] =>
  referrersOf(declarations, declaration)
    .filter(({ where }) => where !== null)
    .toSorted((a, b) => (blockerName(a) < blockerName(b) ? -1 : 1));

/** The name of the records that block a deletion: `incomplete orders`. */
export const blockerName = ({ child, name = child.plural }: Referrer): string => name;

/** The default for {@link RecordDeclaration.rules}. */
export const NO_RULES = (): readonly Issue[] => [];

/**
 * Validates the values that a record would have after a write.
 *
 * @throws VALIDATION_FAILED if they break the rules over several fields
 */
export function checkRules({ rules }: AnyDeclaration, values: object): void {
  const issues = rules(values as never);
  if (issues.length > 0) throw validationFailed(issues);
}

/**
 * The description of everything that can refuse a change of a record: blocking children, unique fields, hooks. Empty if
 * nothing can.
 *
 * @param holding the references that can block a deletion
 */
export function refusalsDescription(
  declaration: AnyDeclaration,
  change: ChangeKind,
  holding: readonly Referrer[],
): string {
  const { kind, unique } = declaration;
  const blockers = [...new Set(holding.map(blockerName))];
  const others = (unique as readonly (readonly string[])[]).map(
    (fields) => `Refused while another ${kind} has the same ${listed(fields, 'and')}.`,
  );
  const held = blockers.length > 0 ? [`Refused while the ${kind} has ${listed(blockers, 'or')}.`] : [];
  const own = refusalsOf(declaration, change).map(({ description }) => description);
  return [...(change === 'deletion' ? held : others), ...own].join(' ');
}
