import type { Field } from '../../foundation/fields.ts';
import type { Id } from '../../foundation/id.ts';
import type { Meter } from '../../foundation/meter.ts';
import { type AnyRecord, referencesOf } from '../../foundation/record.ts';
import { tooManyToCount } from '../conflicts.ts';
import { type Column, columnsOf } from './columns.ts';
import { type Conditions, forEachParent, idList } from './conditions.ts';
import type { SqliteConnection, Value } from './connection.ts';
import { countsOfPrefix } from './pages.ts';

/** A table, index or trigger, named and with the statement that creates it. */
export interface Statement {
  name: string;
  sql: string;
}

/** A table of counts, kept by triggers. */
interface KeptCounts {
  table: string;
  /** The column with the parent, whose value 0 has the sum over all parents. */
  parent: string | undefined;
  columns: readonly string[];
  create: readonly string[];
  triggers: readonly Statement[];
}

/** Records counted one by one, at most. SQLite counts about ten in a microsecond. */
const MAX_COUNTED = 50_000;

/** Whether a field has few values. */
const isCounted = ({ presence, choices, kind }: Field): boolean =>
  presence !== 'optional' && (choices !== undefined || kind === 'boolean');

/**
 * The counts kept for `totalCount`, because counting in SQLite reads the whole index: by the filters with few
 * values and by the first parent that every record has. Undefined if there are neither.
 */
export function countsOf(record: AnyRecord): KeptCounts | undefined {
  const { kind, plural } = record;
  const filtered = columnsOf(record).filter(({ field }) => record.filters.includes(field));
  const [reference] = referencesOf(record);
  const parentColumn = filtered.find(
    ({ field, declaration }) => field === reference?.field && declaration.presence !== 'optional',
  );
  const keys: Column[] = [
    ...(parentColumn ? [parentColumn] : []),
    ...filtered.filter(({ declaration }) => isCounted(declaration)),
  ];
  if (keys.length === 0) return undefined;
  const table = `${kind}_counts`;
  const parent = parentColumn?.name;
  const names = keys.map(({ name }) => name);
  const others = names.slice(parent ? 1 : 0);
  const row = (side: string) => [
    ...(parent ? [`${side}.${parent}`] : []),
    ...others.map((name) => `${side}.${name}`),
  ];
  const total = ['0', ...others.map((name) => `new.${name}`)];
  const rows = [...(parent ? [total] : []), row('new')].map((values) => `(${[...values, 1].join(', ')})`);
  const increase = `insert into ${table} values ${rows.join(', ')} on conflict do update set ${plural} = ${plural} + 1;`;
  const same = [
    ...(parent ? [`${parent} in (0, old.${parent})`] : []),
    ...others.map((name) => `${name} = old.${name}`),
  ].join(' and ');
  const decrease = `update ${table} set ${plural} = ${plural} - 1 where ${same};`;
  const moved = names.map((name) => `old.${name} <> new.${name}`).join(' or ');
  const trigger = (name: string, sql: string): Statement => ({
    name,
    // SQLite keeps the statement with these words in capitals.
    sql: `CREATE TRIGGER ${name} after ${sql} end`,
  });
  const fill = (first: readonly string[]) =>
    `insert into ${table} select ${[...first, ...others, 'count(*)'].join(', ')} from ${plural} group by ${names.map((_, i) => i + 1).join(', ')}`;
  return {
    table,
    parent,
    columns: [...names, plural],
    create: [
      `create table ${table} (${keys.map(({ name, type }) => `${name} ${type} not null`).join(', ')}, ${plural} integer not null, primary key (${names.join(', ')})) strict, without rowid`,
      fill(parent ? [parent] : []),
      ...(parent ? [fill(['0'])] : []),
    ],
    triggers: [
      trigger(`count_new_${kind}`, `insert on ${plural} begin ${increase}`),
      trigger(`count_deleted_${kind}`, `delete on ${plural} begin ${decrease}`),
      trigger(
        `count_moved_${kind}`,
        `update of ${names.join(', ')} on ${plural} when ${moved} begin ${decrease} ${increase}`,
      ),
      ...(parent
        ? [
            trigger(
              `forget_${kind}_counts`,
              `delete on ${reference!.parent.plural} begin delete from ${table} where ${parent} = old.id;`,
            ),
          ]
        : []),
    ],
  };
}

/** Counts the records of a table, by kept counts if there are any for the filter. */
export class Counts {
  readonly #db: SqliteConnection;
  readonly #plural: string;
  readonly #record: AnyRecord;
  readonly #kept: KeptCounts | undefined;

  constructor(db: SqliteConnection, record: AnyRecord) {
    this.#db = db;
    this.#plural = record.plural;
    this.#record = record;
    this.#kept = countsOf(record);
  }

  /** @throws QUERY_TOO_COMPLEX if there are too many to count */
  count(where: Conditions, meter?: Meter): number {
    if (where.prefix) return countsOfPrefix(this.#db, this.#record, where, undefined, meter)[0]!;
    const params: Value[] = [];
    const kept = this.#keptFor(where);
    if (!kept) {
      const counted = `select 1 from ${this.#plural}${conditionsOf(where, params)}${limited(params, meter)}`;
      return withinBounds(this.#db.value(`select count(*) from (${counted})`, params) as number, meter);
    }
    const isOfOneParent = where.equal.some(([column]) => column === kept.parent);
    const total = kept.parent && !isOfOneParent ? `${kept.parent} = 0` : undefined;
    return this.#db.value(this.#sumOf(kept, conditionsOf(where, params, total)), params) as number;
  }

  /**
   * @param parent the column with the parent
   * @throws QUERY_TOO_COMPLEX if there are too many to count
   */
  countsByParent(parent: string, parents: readonly Id[], where: Conditions, meter?: Meter): number[] {
    if (where.prefix)
      return countsOfPrefix(this.#db, this.#record, where, { column: parent, parents }, meter);
    const params: Value[] = [idList(parents)];
    const kept = this.#keptFor({ ...where, equal: [...where.equal, [parent, null]] });
    if (!kept) return this.#countedByParent(parent, parents, where, params, meter);
    const sum = this.#sumOf(kept, conditionsOf(where, params, `${parent} = parent.value`));
    return this.#db.json<number[]>(forEachParent(sum, '?1'), params)!;
  }

  #countedByParent(
    parent: string,
    parents: readonly Id[],
    where: Conditions,
    params: Value[],
    meter: Meter | undefined,
  ): number[] {
    const some = conditionsOf(where, params, `${parent} in (select value from json_each(?1))`);
    const counted = `select ${parent} from ${this.#plural}${some}${limited(params, meter)}`;
    const groups = this.#db.json<[Id, number][]>(
      `select json_group_array(json_array(cast(${parent} as text), n))
       from (select ${parent}, count(*) as n from (${counted}) group by 1)`,
      params,
    )!;
    const total = groups.reduce((sum, [, count]) => sum + count, 0);
    withinBounds(total, meter);
    const counts = new Map(groups);
    return parents.map((id) => counts.get(id) ?? 0);
  }

  #keptFor({ equal, oneOf }: Conditions): KeptCounts | undefined {
    const columns = [...equal.map(([column]) => column), ...(oneOf ? [oneOf.column] : [])];
    return columns.every((column) => this.#kept?.columns.includes(column)) ? this.#kept : undefined;
  }

  #sumOf({ table }: KeptCounts, where: string): string {
    return `select coalesce(sum(${this.#plural}), 0) from ${table}${where}`;
  }
}

/** A LIMIT clause of one more than may be counted. */
const limited = (params: Value[], meter: Meter | undefined): string =>
  ` limit ?${params.push(Math.min(MAX_COUNTED, meter?.left('indexEntries') ?? MAX_COUNTED) + 1)}`;

/** @throws QUERY_TOO_COMPLEX if there are too many to count */
function withinBounds(count: number, meter: Meter | undefined): number {
  if (count > MAX_COUNTED) throw tooManyToCount();
  meter?.draw('indexEntries', count);
  return count;
}

/** A WHERE clause with its parameters. */
function conditionsOf({ equal, oneOf }: Conditions, params: Value[], first?: string): string {
  const conditions = first === undefined ? [] : [first];
  for (const [column, value] of equal) conditions.push(`${column} = ?${params.push(value)}`);
  if (oneOf) {
    const values = params.push(JSON.stringify(oneOf.values));
    conditions.push(`${oneOf.column} in (select value from json_each(?${values}))`);
  }
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
}
