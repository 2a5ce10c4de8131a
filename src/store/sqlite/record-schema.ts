import { type AnyRecord, referencesOf } from '../../foundation/record.ts';
import { indexesOf } from '../indexes.ts';
import { type Column, columnName, columnsOf, foldedColumnsOf, sortColumn, sortIndexName } from './columns.ts';
import type { SqliteConnection } from './connection.ts';
import { countsOf, type Statement } from './counts.ts';
import { recordFolded } from './folding.ts';

const definitionOf = (record: AnyRecord, { name, type, declaration }: Column): string => {
  const reference = referencesOf(record).find(({ field }) => columnName(field) === name);
  // Children that do not hold off a deletion outlive their parent.
  const foreignKey = reference && reference.holds.where === undefined;
  return [
    name,
    type,
    declaration.presence !== 'optional' && 'not null',
    foreignKey && `references ${reference.parent.plural} (id)`,
  ]
    .filter(Boolean)
    .join(' ');
};

const allColumns = (record: AnyRecord) => [...columnsOf(record), ...foldedColumnsOf(record)];

function tableOf(record: AnyRecord): string {
  const columns = allColumns(record).map((column) => definitionOf(record, column));
  // AUTOINCREMENT keeps the highest id ever stored; chosen ids are excluded from assignment in another way.
  const id = `id integer primary key${record.choosesId ? '' : ' autoincrement'}`;
  return `create table ${record.plural} (${[id, ...columns].join(', ')}) strict`;
}

/** The index for an order. SQLite ends each entry of an index with the id of its record. */
function sortIndex(record: AnyRecord, sort: string): Statement {
  const column = sortColumn(record, sort);
  const name = sortIndexName(record, sort);
  // Names of an earlier version are taken over one by one, which must not begin with a large index.
  const taken = column === columnName(sort) ? '' : ` where ${column} is not null`;
  return { name, sql: `create index ${name} on ${record.plural} (${column})${taken}` };
}

function indexStatements(record: AnyRecord): Statement[] {
  const nameOf = (fields: readonly string[]) =>
    `${record.plural}_by_${fields.map((field) => columnName(field).replace(/_id$/, '')).join('_and_')}`;
  const list = (fields: readonly string[]) => fields.map(columnName).join(', ');
  return [
    ...indexesOf(record).map((fields) => ({
      name: nameOf(fields),
      sql: `create index ${nameOf(fields)} on ${record.plural} (${list(fields)})`,
    })),
    ...record.sorts.map((sort: string) => sortIndex(record, sort)),
    ...record.unique.map((fields: readonly string[]) => ({
      name: `${nameOf(fields)}_once`,
      sql: `create unique index ${nameOf(fields)}_once on ${record.plural} (${list(fields)})`,
    })),
  ];
}

/**
 * Tables of the ids of records whose clients may choose ids: the last one assigned, and the chosen ones above
 * it, including those of deleted records, so that assignment can skip them.
 */
const idTables = ({ kind, choosesId }: AnyRecord): Statement[] =>
  choosesId
    ? [
        {
          name: `assigned_${kind}_ids`,
          sql: `create table assigned_${kind}_ids (last integer not null) strict; insert into assigned_${kind}_ids values (0)`,
        },
        {
          name: `chosen_${kind}_ids`,
          sql: `create table chosen_${kind}_ids (id integer primary key) strict`,
        },
      ]
    : [];

/** A column added to records that exist already. */
function additionOf(record: AnyRecord, column: Column): string {
  const { presence, default: value } = column.declaration;
  if (presence === 'required')
    throw new Error(`${record.plural}.${column.name}: a field added to existing records needs a default.`);
  const stored = presence === 'optional' ? null : column.stored(value);
  const literal = typeof stored === 'string' ? `'${stored.replaceAll("'", "''")}'` : stored;
  return `alter table ${record.plural} add column ${definitionOf(record, column)} default ${literal}`;
}

/** The statements that bring the tables of records to what their declarations say; none if they are there. */
function missing(db: SqliteConnection, records: readonly AnyRecord[]): string[] {
  const there = new Map(
    db.json<[name: string, sql: string][]>(
      'select json_group_array(json_array(name, sql)) from sqlite_schema',
    ),
  );
  const namesIn = (from: string, table: string) =>
    db.json<string[]>(`select json_group_array(name) from ${from}`, [table])!;
  const triggersOn = (table: string) =>
    namesIn("sqlite_schema where type = 'trigger' and tbl_name = ?", table);
  const columnsThere = (table: string) => namesIn('pragma_table_info(?)', table);
  const statements: string[] = [];
  const create = (all: readonly Statement[]) =>
    statements.push(...all.filter(({ name }) => !there.has(name)).map(({ sql }) => sql));
  const triggers: Statement[] = [];
  for (const record of records) {
    if (there.has(record.plural)) {
      const known = columnsThere(record.plural);
      const added = allColumns(record).filter(({ name }) => !known.includes(name));
      statements.push(...added.map((column) => additionOf(record, column)));
    } else create([{ name: record.plural, sql: `${tableOf(record)}; ${recordFolded(record)}` }]);
    create([...idTables(record), ...indexStatements(record)]);
    const counts = countsOf(record);
    if (!counts) continue;
    const known = there.has(counts.table) ? columnsThere(counts.table) : [];
    if (known.join() !== counts.columns.join()) {
      if (known.length > 0) statements.push(`drop table ${counts.table}`);
      statements.push(...counts.create);
    }
    triggers.push(...counts.triggers);
  }
  // Triggers hold no data, so those of an earlier version are simply replaced. Those of records that this
  // program does not open, as a tool for keys, are none of its business.
  const wanted = new Map(triggers.map(({ name, sql }) => [name, sql]));
  for (const { plural } of records) {
    for (const name of triggersOn(plural))
      if (wanted.get(name) !== there.get(name)) statements.push(`drop trigger ${name}`);
  }
  for (const { name, sql } of triggers) if (there.get(name) !== sql) statements.push(sql);
  return statements;
}

/**
 * Creates the tables, columns, indexes and triggers of records that a data file does not have yet. Nothing that
 * holds data is ever removed or changed.
 */
export function prepareRecords(db: SqliteConnection, records: readonly AnyRecord[]): void {
  if (missing(db, records).length === 0) return;
  db.transaction(() => {
    // Compared again inside the transaction: a tool may open a new file at the same time.
    for (const statement of missing(db, records)) db.exec(statement);
  });
}
