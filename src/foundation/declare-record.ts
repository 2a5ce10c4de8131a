import type { Issue } from './errors.ts';
import { type Compute, type Computed, computed, isFolded, ownId } from './fields.ts';
import { type Id, MAX_INT32, MAX_INT64, MIN_INT32, MIN_INT64 } from './id.ts';
import {
  type AnyDeclaration,
  type Fields,
  type Flat,
  filteredFields,
  hasRange,
  NO_RULES,
  parentField,
  type RecordDeclaration,
  referencesOf,
  snakeCase,
  type ValuesOf,
  boundNames,
} from './record.ts';
import type { Hooks } from './table.ts';
import { graphqlDialect } from './validation.ts';

let declared = 0;

/** All subsets, including the empty one. */
function subsetsOf([field, ...others]: readonly string[]): string[][] {
  if (field === undefined) return [[]];
  const sets = subsetsOf(others);
  return [...sets, ...sets.map((set) => [field, ...set])];
}

/**
 * Declares a kind of record, which makes it available over all interfaces and on both engines.
 *
 * @throws Error that says how to fix an invalid declaration
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
      /** The description of the record's id. */
      id?: string;
      /** Returns the computed fields, each declared with the function passed in. */
      computed?: (computed: Compute<Flat<{ id: Id } & ValuesOf<F>>>) => C;
      rules?: (record: Flat<ValuesOf<F>>) => readonly Issue[];
      hooks?: Hooks<Flat<{ id: Id } & ValuesOf<F>>>;
    },
): RecordDeclaration<F, Filters> & { computed: C } {
  const { type, combinations } = declaration;
  const record = {
    rules: NO_RULES,
    hooks: undefined,
    filters: [],
    sorts: [],
    unique: [],
    choosesId: false,
    ...declaration,
    id: ownId(declaration.id ?? 'Unique identifier, assigned on creation'),
    computed: declaration.computed?.(computed as never) ?? {},
    combinations: [],
    index: declared++,
  } as unknown as RecordDeclaration<F, Filters> & { computed: C };
  const filtered = filteredFields(record as AnyDeclaration);
  const together = combinations ?? [filtered];
  const sets = [[], ...filtered.map((field) => [field]), ...together.flatMap(subsetsOf)];
  // In the order of the declaration.
  const ordered = sets.map((set) => Object.keys(record.fields).filter((field) => set.includes(field)));
  record.combinations = [...new Map(ordered.map((set) => [String(set), set])).values()];
  for (const fault of faultsOf(record as AnyDeclaration, combinations !== undefined))
    throw new Error(type + fault);
  return record;
}

/** The maximum length of a text to order lists by, in characters: cursors hold it, and databases index it. */
const MAX_SORTED_LENGTH = 200;
/** The maximum number of indexes per record: databases allow 64 per collection, and each slows every write. */
const MAX_INDEXES = 60;
/** The maximum number of index ranges merged into a page: one per combination of its filter values. */
const MAX_MERGED = 64;
/** The maximum number of filters for a declaration without `combinations`: each doubles the indexes. */
const MAX_FREE_FILTERS = 3;

/** Names reserved by interfaces and engines: of fields, list arguments, and kinds and paths. */
const FIELDS = new Set(['id', 'nodeId', 'idempotencyKey']);
const PARAMETERS = new Set(['sort', 'limit', 'after', 'filter', 'first', 'last', 'before']);
export const RESERVED: ReadonlySet<string> = new Set(
  'events usage usageHistory documents ids keys key apiKey apiKeys idempotency outcomes counts counted counters layout locks sessions instances imports loads values parent given node nodes rateLimit health docs graphql mcp metrics console guides'.split(
    ' ',
  ),
);

/**
 * Finds the faults of a declaration that TypeScript cannot see. Each message says how to fix it, and starts with
 * `.name` if it concerns the field `name`.
 *
 * @param saysTogether true if the declaration has `combinations`
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
    const { rule, view, presence, maxItems, opaque, formerly, range } = field;
    if (formerly !== undefined && (formerly === name || formerly in record.fields || formerly === 'id'))
      yield `.${name}: was formerly ${formerly}, which is the name of a field; its values would be taken for those of another.`;
    if (range && (range[0] < MIN_INT32 || range[1] > MAX_INT32))
      yield `.${name}: integers are from ${MIN_INT32} to ${MAX_INT32}, which GraphQL's Int can hold; choose closer bounds or a bigInteger.`;
    const { minimum, maximum } = field.schema as { minimum: bigint; maximum: bigint };
    if (field.kind === 'bigInteger' && (minimum < MIN_INT64 || maximum > MAX_INT64))
      yield `.${name}: big integers are from ${MIN_INT64} to ${MAX_INT64}, which databases can hold; choose closer bounds or a text.`;
    if (maxItems !== undefined || opaque)
      yield `.${name}: is a list or an opaque id, which no engine stores in a record; make it a record of its own or a text.`;
    if (view !== undefined && presence === 'required')
      yield `.${name}: belongs to ${view}, so new records need a default for it.`;
    const samples = {
      ...(field.kind !== 'id' && { example: field.example }),
      ...(presence === 'defaulted' && { default: field.default }),
    };
    for (const [what, value] of Object.entries(samples)) {
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
      ...siblings.map(({ list }) => list),
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
