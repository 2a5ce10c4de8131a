import { memoized } from '../../foundation/cache.ts';
import type { AnyDeclaration } from '../../foundation/record.ts';
import { countedSet, countedSets } from '../indexes.ts';
import { type Column, columnsOf } from './columns.ts';
import type { SqliteConnection } from './connection.ts';

/**
 * The number of records with each combination of values, kept up to date by triggers: counting a million index entries
 * would block the event loop for 50 ms. Triggers cover every writer in its own transaction: this program's writes, bulk
 * loads and imports, other processes, `sqlite3`. A write adjusts one row per set of fields, two for a pet.
 */
export interface KeptCounts {
  /** The quoted name. */
  table: string;
  columns: readonly Column[];
  /** The statements that create the triggers, by quoted name. */
  triggers: ReadonlyMap<string, string>;
  /** The statement that creates the empty table. */
  create: string;
  /** The statement that counts existing records. */
  fill: string;
}

/** The only row of a table that counts all records. */
const WHOLE = { name: '"whole"', type: 'integer', value: '1' };

function keptCounts(declaration: AnyDeclaration, fields: readonly string[]): KeptCounts {
  const name = `${declaration.plural} count by ${fields.join(', ')}`.replace(/ by $/, '');
  const table = `"${name}"`;
  const records = `"${declaration.plural}"`;
  const columns = fields.map((field) => columnsOf(declaration).find((column) => column.field === field)!);
  const keys = columns.length > 0 ? columns : [WHOLE];
  const names = keys.map((key) => key.name).join(', ');
  const valueIn = (row: 'new' | 'old', key: (typeof keys)[number]) =>
    'value' in key ? key.value : `${row}.${key.name}`;
  // Records without a value are in no list filtered by it.
  const isThere = (prefix: string) => {
    const optional = columns.filter(({ declared }) => declared.presence === 'optional');
    return optional.map((column) => `${prefix}${column.name} is not null`).join(' and ') || 'true';
  };
  const is = (row: 'new' | 'old') => keys.map((key) => `${key.name} = ${valueIn(row, key)}`).join(' and ');
  const added = keys.map((key) => valueIn('new', key)).join(', ');
  const isFirst = `${isThere('new.')} and not exists (select 1 from ${table} where ${is('new')})`;
  // Not an upsert, nor any function: what might abort has SQLite note all pages of an insertion, which takes as long as that.
  const begin = `insert into ${table} values (${added}, 0);`;
  const add = `update ${table} set n = n + 1 where ${is('new')};`;
  const subtract = `update ${table} set n = n - 1 where ${is('old')}; delete from ${table} where ${is('old')} and n = 0;`;
  const isMoved = columns.map(({ name }) => `old.${name} is not new.${name}`).join(' or ');
  const triggers: [event: string, when: string, work: string][] = [
    ['before insert', isFirst, begin],
    ['after insert', 'true', add],
    ['after delete', 'true', subtract],
  ];
  if (columns.length > 0)
    triggers.push(
      [`before update of ${names}`, `(${isMoved}) and ${isFirst}`, begin],
      [`after update of ${names}`, isMoved, subtract + add],
    );
  return {
    table,
    columns,
    create: `create table ${table} (${keys.map((key) => `${key.name} ${key.type}`).join(', ')}, n integer not null,
      primary key (${names})) strict, without rowid`,
    triggers: new Map(
      triggers.map(([event, when, work]) => {
        const trigger = `"${name} ${event.split(' of ')[0]}"`;
        return [trigger, `create trigger ${trigger} ${event} on ${records} when ${when} begin ${work} end`];
      }),
    ),
    fill: `insert into ${table} select ${keys.map((key) => valueIn('new', key).replace('new.', '')).join(', ')}, count(*)
      from ${records} where ${isThere('')} group by ${columns.length > 0 ? names : '1 having count(*) > 0'}`,
  };
}

/** All kept counts of a record. */
const keptCountsOf = memoized((declaration: AnyDeclaration): readonly KeptCounts[] =>
  countedSets(declaration).map((fields) => keptCounts(declaration, fields)),
);

/** The kept counts to sum for lists filtered by these fields; undefined if there are none. */
export function keptFor(declaration: AnyDeclaration, fields: readonly string[]): KeptCounts | undefined {
  const wanted = countedSet(declaration, fields);
  return keptCountsOf(declaration).find(
    ({ columns }) => columns.length === wanted.length && columns.every(({ field }, n) => field === wanted[n]),
  );
}

/** The existing triggers, then tables, of a record's kept counts, with quoted names. */
const madeOf = (db: SqliteConnection, { plural }: AnyDeclaration): [type: string, name: string][] =>
  db.json(
    `select json_group_array(json_array(type, '"' || name || '"')) from (
       select * from sqlite_schema where type in ('table', 'trigger') and name glob ? order by type desc
     )`,
    [`${plural} count*`],
  )!;

/** The steps that bring a record's kept counts in line with its declaration; none if they are up to date. */
export function* missingCounts(db: SqliteConnection, declaration: AnyDeclaration): Generator<() => void> {
  const kept = keptCountsOf(declaration);
  const made = madeOf(db, declaration);
  const wanted = new Set(kept.flatMap(({ table, triggers }) => [table, ...triggers.keys()]));
  for (const [type, name] of made) if (!wanted.has(name)) yield () => db.exec(`drop ${type} ${name}`);
  for (const { table, triggers, create, fill } of kept)
    if (!made.some(([, name]) => name === table))
      yield () => db.exec([create, fill, ...triggers.values()].join(';'));
}

/** Removes the kept counts of a record, until {@link missingCounts} creates them again. */
export function dropCounts(db: SqliteConnection, declaration: AnyDeclaration): void {
  for (const [type, name] of madeOf(db, declaration)) db.exec(`drop ${type} ${name}`);
}
