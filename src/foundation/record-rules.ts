import { type Field, isFolded } from './fields.ts';
import { graphqlDialect } from './validation.ts';

/** Characters of a text that lists can be ordered by: cursors hold it, and databases index it. */
export const MAX_SORTED_LENGTH = 200;
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
  'events webhooks usage usageHistory documents ids keys key apiKey apiKeys idempotency outcomes counts counted counters layout locks sessions instances imports values parent given node nodes rateLimit health docs graphql mcp metrics console guides'.split(
    ' ',
  ),
);

/** The name that a field has where names are in snake case. */
export const snakeCase = (field: string): string =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What a declaration says of a kind of record. */
interface Declared {
  type: string;
  kind: string;
  plural: string;
  fields: Readonly<Record<string, Field>>;
  computed: Readonly<Record<string, Field>>;
  filters: readonly string[];
  combinations: readonly (readonly string[])[];
  sorts: readonly string[];
  unique: readonly (readonly string[])[];
}

/**
 * Checks what TypeScript cannot.
 *
 * @param filtered the fields that lists can have conditions on
 * @param saysTogether whether the declaration says which of them go together
 * @throws Error with the record, the field, and what to do
 */
export function checkRecord(record: Declared, filtered: readonly string[], saysTogether: boolean): void {
  const { type, kind, plural } = record;
  const fields = Object.entries(record.fields);
  const fail = (where: string, message: string): never => {
    throw new Error(`${[type, where].filter(Boolean).join('.')}: ${message}`);
  };

  if (!/^[A-Z][A-Za-z0-9]*$/.test(type)) fail('', 'a type is called like Pet or VetVisit.');
  for (const name of [kind, plural])
    if (!/^[a-z][A-Za-z0-9]*$/.test(name)) fail('', `${name} must be written like pet or vetVisits.`);
  if (kind === plural) fail('', `kind and plural are both ${kind}; give it two names, as pet and pets.`);
  if (RESERVED.has(plural) || RESERVED.has(kind))
    fail('', `${RESERVED.has(kind) ? kind : plural} is a name of the gateway itself; choose another.`);

  if (fields.every(([, { view }]) => view !== undefined)) fail('', 'needs at least one field of its own.');
  for (const [name, { reference, view, presence, maxItems, opaque }] of fields) {
    if (maxItems !== undefined || opaque)
      fail(
        name,
        'is a list or an opaque id, which no engine stores in a record; make it a record of its own or a text.',
      );
    if (view !== undefined && presence === 'required')
      fail(name, `belongs to ${view}, so new records need a default for it.`);
    if (reference && !/.Id$/.test(name))
      fail(name, 'refers to another record, so its name ends in Id, as petId.');
    const [parent] = reference ? [name.slice(0, -2)] : [];
    if (parent !== undefined && (parent in record.fields || parent in record.computed))
      fail(parent, `is what ${name} leads to; choose another name.`);
  }
  const columns = new Map<string, string>([['id', 'id']]);
  for (const [name, field] of [...fields, ...Object.entries(record.computed)]) {
    if (!/^[a-z][A-Za-z0-9]*$/.test(name) || name in {}) fail(name, 'a field is called like name or petId.');
    if (FIELDS.has(name) || name === `${kind}Id`)
      fail(name, 'interfaces use this name themselves; choose another.');
    const names = record.sorts.includes(name) && isFolded(field) ? [name, `${name}_folded`] : [name];
    for (const column of names.map(snakeCase)) {
      const other = columns.get(column);
      if (other !== undefined)
        fail(name, `its column has the name of that of ${other}; choose another name.`);
      columns.set(column, name);
    }
  }

  for (const [name, { kind, rule, example, default: value, presence, reference }] of fields) {
    const faultOf = (given: unknown) => rule(graphqlDialect).safeParse(given).error?.issues[0]?.message;
    const given = { ...(kind !== 'id' && { example }), ...(presence === 'defaulted' && { default: value }) };
    for (const [what, one] of Object.entries(given))
      if (faultOf(one)) fail(name, `its ${what} ${JSON.stringify(one)} breaks its rule: ${faultOf(one)}.`);
    for (const [field, wanted] of Object.entries(reference?.holds.where ?? {}))
      if (!record.fields[field]?.rule(graphqlDialect).safeParse(wanted).success)
        fail(name, `in its \`where\`, ${field} cannot be ${JSON.stringify(wanted)}.`);
  }
  for (const list of [record.filters, record.sorts, ...record.unique]) {
    for (const name of list)
      if (!Object.hasOwn(record.fields, name))
        fail(name, 'is in a list of fields, but not among the fields.');
    if (new Set(list).size < list.length) fail('', `${list.join(', ')}: a list names each field once.`);
  }
  if (record.unique.some(({ length }) => length === 0)) fail('', 'what is unique has at least one field.');
  for (const name of record.sorts) {
    const field = record.fields[name]!;
    if (isFolded(field) && (field.maxLength ?? Number.POSITIVE_INFINITY) > MAX_SORTED_LENGTH)
      fail(
        name,
        `a text in \`sorts\` has at most ${MAX_SORTED_LENGTH} characters; shorten it or take it out.`,
      );
    if (isFolded(field) && record.filters.includes(name))
      fail(name, 'a text in `sorts` is found by how it begins; take it out of `filters`.');
  }
  for (const name of [...record.filters, ...record.sorts])
    if (PARAMETERS.has(name)) fail(name, 'lists have an argument of this name; choose another.');

  if (!saysTogether && filtered.length > MAX_FREE_FILTERS)
    fail(
      '',
      `lists can be filtered by ${filtered.join(', ')}, more than ${MAX_FREE_FILTERS}; say in \`combinations\` which go together.`,
    );
  for (const name of record.combinations.flat())
    if (!filtered.includes(name)) fail(name, 'is in `combinations`, but not in `filters`.');
  const indexes = record.combinations.length * (record.sorts.length + 1) + record.unique.length;
  if (indexes > MAX_INDEXES)
    fail('', `needs ${indexes} indexes, more than ${MAX_INDEXES}; take out sorts, filters or combinations.`);
  for (const set of record.combinations) {
    const merged = set.reduce((n, name) => n * (record.fields[name]!.choices?.values.length ?? 1), 1);
    if (merged > MAX_MERGED)
      fail(
        '',
        `${set.join(', ')} have ${merged} combinations of values, more than ${MAX_MERGED}; leave them out of \`combinations\`.`,
      );
  }
}
