import { type AnyDeclaration, referencesOf } from '../../foundation/record.ts';
import { choiceFields, indexesOf } from '../indexes.ts';
import { allColumnsOf, type Column, columnName, foldedName, indexName, sortColumn } from './columns.ts';
import type { SqliteConnection } from './connection.ts';
import { dropCounts, missingCounts } from './kept-counts.ts';

/** The definition of a column, without `not null`, which SQLite could not drop if the field became optional later. */
const definitionOf = (declaration: AnyDeclaration, { field, name, type }: Column): string => {
  if (field === 'id') return `${name} integer primary key`;
  const reference = referencesOf(declaration).find((reference) => reference.field === field);
  // Children that don't block the deletion of their parent outlive it.
  if (!reference || reference.where !== undefined) return `${name} ${type}`;
  // Checked with the commit: see `SqliteConnection.insert`.
  return `${name} ${type} references "${reference.parent.plural}" (id) deferrable initially deferred`;
};

function tableOf(declaration: AnyDeclaration): string {
  const columns = allColumnsOf(declaration).map((column) => definitionOf(declaration, column));
  return `create table "${declaration.plural}" (${columns.join(', ')}) strict`;
}

/** The statements that create the indexes of a record, by index name. */
const indexStatements = (declaration: AnyDeclaration): ReadonlyMap<string, string> =>
  new Map([
    ...indexesOf(declaration, Object.keys(choiceFields(declaration))).map(
      (fields): [name: string, sql: string] => {
        const name = indexName(declaration, fields);
        const columns = fields.map((field) => sortColumn(declaration, field)).join(', ');
        return [name, `create index ${name} on "${declaration.plural}" (${columns})`];
      },
    ),
    ...declaration.unique.map((fields: readonly string[]): [name: string, sql: string] => {
      const name = `"${declaration.plural} once by ${fields.join(', ')}"`;
      const columns = fields.map(columnName).join(', ');
      return [name, `create unique index ${name} on "${declaration.plural}" (${columns})`];
    }),
  ]);

/** The statement that adds a column to existing records. */
function additionOf(declaration: AnyDeclaration, column: Column): string {
  const { presence, default: value } = column.declared;
  if (presence === 'required')
    throw new Error(
      `${declaration.plural}.${column.name}: a field added to existing records needs a default.`,
    );
  const stored = presence === 'optional' ? null : column.stored(value);
  const literal = typeof stored === 'string' ? `'${stored.replaceAll("'", "''")}'` : stored;
  return `alter table "${declaration.plural}" add column ${definitionOf(declaration, column)} default ${literal}`;
}

/** The number of records updated per statement. */
const STEP = 1_000;

/** Fills the column with the folded form of a text that lists can now be ordered by. */
function fold(db: SqliteConnection, { plural }: AnyDeclaration, { name, stored, folds }: Column): void {
  for (let after: string | undefined = '0'; after !== undefined;) {
    const rows: [id: string, text: string | null][] = db.json(
      `select json_group_array(json_array(cast(id as text), ${folds})) from (
         select * from "${plural}" where id > ? order by id limit ${STEP}
       )`,
      [BigInt(after)],
    )!;
    db.run(
      `update "${plural}" set ${name} = change.value ->> 1
       from json_each(?) as change where "${plural}".id = cast(change.value ->> 0 as integer)`,
      [JSON.stringify(rows.map(([id, text]) => [id, stored(text)]))],
    );
    after = rows.at(-1)?.[0];
  }
}

/** The steps that bring tables in line with their declarations; none if they are up to date. */
function* missing(db: SqliteConnection, declarations: readonly AnyDeclaration[]): Generator<() => void> {
  for (const declaration of declarations) {
    const { plural } = declaration;
    const storedTypes = db.json<Record<string, string>>(
      `select json_group_object('"' || name || '"', lower(type)) from pragma_table_info(?)`,
      [plural],
    )!;
    if (Object.keys(storedTypes).length === 0) yield () => db.exec(tableOf(declaration));
    else
      for (const column of allColumnsOf(declaration)) {
        const { field, name, type } = column;
        const { formerly } = column.declared;
        const former = formerly && (column.folds ? foldedName(formerly) : columnName(formerly));
        if (former && former in storedTypes && !(name in storedTypes)) {
          yield () => db.exec(`alter table "${plural}" rename column ${former} to ${name}`);
          storedTypes[name] = storedTypes[former]!;
        }
        if (!(name in storedTypes)) yield () => db.exec(additionOf(declaration, column));
        else if (storedTypes[name] !== type)
          throw new Error(
            `${plural}.${field} is stored as ${storedTypes[name]}, which no longer fits its kind; give the new field another name, or add a migration.`,
          );
        if (!(name in storedTypes) && column.folds) yield () => fold(db, declaration, column);
      }
    const wanted = indexStatements(declaration);
    const there = db.json<string[]>(
      `select json_group_array('"' || name || '"') from sqlite_schema where type = 'index' and tbl_name = ?`,
      [plural],
    )!;
    for (const name of there) if (!wanted.has(name)) yield () => db.exec(`drop index ${name}`);
    for (const [name, sql] of wanted) if (!there.includes(name)) yield () => db.exec(sql);
    yield* missingCounts(db, declaration);
  }
}

/** Creates dropped indexes, sorting their entries in files rather than in memory. */
export function createIndexes(db: SqliteConnection, declarations: readonly AnyDeclaration[]): void {
  db.exec('pragma temp_store = file');
  for (const change of missing(db, declarations)) change();
  db.exec('pragma temp_store = memory');
}

/** Removes the kept counts and all indexes of a record except unique ones, until {@link createIndexes}. */
export const dropIndexes = (db: SqliteConnection, declaration: AnyDeclaration): void =>
  db.transaction(() => {
    for (const [name, sql] of indexStatements(declaration))
      if (sql.startsWith('create index')) db.exec(`drop index if exists ${name}`);
    dropCounts(db, declaration);
  });

/** True if the tables of these records are up to date. */
export const isPrepared = (db: SqliteConnection, declarations: readonly AnyDeclaration[]): boolean =>
  missing(db, declarations).next().done === true;

/**
 * Brings the tables of a data file in line with the declarations. No other process may use the file. Nothing that holds
 * data is ever removed or changed.
 */
export const prepareRecords = (db: SqliteConnection, declarations: readonly AnyDeclaration[]): void =>
  db.transaction(() => {
    for (const change of missing(db, declarations)) change();
  });
