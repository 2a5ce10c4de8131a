import { memoized } from '../../foundation/cache.ts';
import { isFolded } from '../../foundation/fields.ts';
import { type AnyDeclaration, type Fields, hasRange } from '../../foundation/record.ts';
import { countedSet, countedSets, indexFor } from '../indexes.ts';
import { allColumnsOf, type Column, columnsOf, indexName, sortColumn } from './columns.ts';
import type { SqliteConnection } from './connection.ts';

/*
 * Counting a million index entries would block the event loop for 50 ms. So the number of records with each combination of
 * values is kept, and where they are many, that in each block of the order by a field: a count by name or range sums blocks,
 * and reads no more entries than two of them have.
 *
 * What is kept covers the records up to an id. Later ones, mostly fewer than UNCOUNTED, are counted as they are: counting
 * them in one by one takes longer than many at once. Triggers keep it exact when earlier ones change, whoever writes: this
 * program, other processes, `sqlite3`.
 */

/** The most records of a block, unless all have the same key. */
const BLOCK = 1_024;
/** The most records of a combination of values without blocks. */
const FEW = 4_096;
/** In place of both, for what stays as it is. */
const UNLIMITED = '4611686018427387904';
/** The number of written records after which a process calls {@link extendCounts}. */
export const UNCOUNTED = 512;
/** How much is done at once, so that no write takes much longer than others. */
const RECORDS_AT_ONCE = 4_096;
const BLOCKS_AT_ONCE = 8;

const throughTable = ({ plural }: AnyDeclaration) => `"${plural} counted through"`;
/** The SQL of the id up to which kept counts cover the records of a kind. */
export const through = (declaration: AnyDeclaration): string =>
  `(select id from ${throughTable(declaration)})`;
/** The SQL condition of the records to count in next. */
const isNext = (declaration: AnyDeclaration) =>
  `id > ${through(declaration)} and id <= (select next from ${throughTable(declaration)})`;

const all = (conditions: readonly string[]): string => conditions.join(' and ') || 'true';
const areSame = (columns: readonly Column[], a: string, b: string): string =>
  all(columns.map(({ name }) => `${a}${name} = ${b}${name}`));
const columnsFor = (declaration: AnyDeclaration, fields: readonly string[]): readonly Column[] =>
  fields.map((field) => columnsOf(declaration).find((column) => column.field === field)!);

/** A table of the number of records with each combination of values. One without fields has one row. */
function keptCounts(declaration: AnyDeclaration, fields: readonly string[]) {
  const title = `${declaration.plural} counted by ${fields.join(', ')}`.replace(/ by $/, '');
  const table = `"${title}"`;
  const columns = columnsFor(declaration, fields);
  const names = columns.map(({ name }) => name).join(', ') || '"whole"';
  const valuesIn = (row: string) => columns.map(({ name }) => row + name).join(', ') || '1';
  // Records without a value are in no list filtered by it.
  const isThere = (row: string) =>
    all(
      columns.flatMap(({ name, declared }) =>
        declared.presence === 'optional' ? `${row}${name} is not null` : [],
      ),
    );
  const countOf = (from: string) =>
    `insert into ${table} select ${valuesIn('')}, count(*), ${FEW} from "${declaration.plural}" ${from} ${isThere('')}
      group by ${columns.length > 0 ? names : '1'}`;
  /** Combinations of which there are now many. */
  const large = `(select * from ${table} indexed by "${title} large" where n > most order by n limit ${BLOCKS_AT_ONCE})`;
  return {
    title,
    table,
    columns,
    watched: columns.map(({ name }) => name),
    create: [
      `create table ${table} (${columns.map(({ name, type }) => `${name} ${type}`).join(', ') || '"whole" integer'},
        n integer not null, most integer not null, primary key (${names})) strict, without rowid`,
      `create index "${title} large" on ${table} (n) where n > most`,
    ],
    fill: countOf('where'),
    // Not an upsert, nor any function: what might abort has SQLite note all pages of an insertion, which takes as long as that.
    add: (when: string) =>
      `insert into ${table} select ${valuesIn('new.')}, 0, ${FEW} where ${when} and ${isThere('new.')}
         and not exists (select 1 from ${table} where ${areSame(columns, '', 'new.')});
       update ${table} set n = n + 1 where ${when} and ${areSame(columns, '', 'new.')};`,
    subtract: (when: string) =>
      `update ${table} set n = n - 1 where ${when} and ${areSame(columns, '', 'old.')};
       delete from ${table} where ${areSame(columns, '', 'old.')} and n = 0;`,
    extend: `${countOf(`not indexed where ${isNext(declaration)} and`)} on conflict do update set n = n + excluded.n`,
    large,
    accept: `update ${table} set most = ${UNLIMITED} where (${names}) in (select ${names} from ${large})`,
  };
}

/** A table of the number of records in each block, by its lowest key, of an index that ends with an order. */
function keptBlocks(declaration: AnyDeclaration, fields: readonly string[], sort: string) {
  const title = `${declaration.plural} counted in blocks by ${[...fields, sort].join(', ')}`;
  const table = `"${title}"`;
  const columns = columnsFor(declaration, fields);
  const key = sortColumn(declaration, sort);
  const { type } = allColumnsOf(declaration).find(({ name }) => name === key)!;
  const values = columns.map(({ name }) => `${name}, `).join('');
  const lowest = type === 'text' ? `''` : '-9223372036854775808';
  const index = indexName(declaration, indexFor(declaration, fields, sort));
  const isIn = (row: string) =>
    `from "${declaration.plural}" as record indexed by ${index} where ${areSame(columns, 'record.', `${row}.`)}`;
  const isOf = (row: string) => `from ${table} as block where ${areSame(columns, 'block.', `${row}.`)}`;
  const isBlock = (row: string) => `${areSame(columns, `${table}.`, `${row}.`)} and ${table}.low = `;
  /** The lower end of the block of a record; null if it has none. */
  const lowOf = (row: string) =>
    `(select low ${isOf(row)} and low <= ${row}.${key} order by low desc limit 1)`;
  /** The number of a block's records below the lower end of the next one. */
  const below = (row: string, next: string) =>
    `(select count(*) ${isIn(row)} and ${key} >= ${row}.low and ${key} < ${next} and id <= ${through(declaration)})`;
  const large = `(select * from ${table} indexed by "${title} large"
    where n > most and low <> 9223372036854775807 order by ${values}low limit 1)`;
  return {
    title,
    table,
    columns,
    watched: [...columns.map(({ name }) => name), key],
    key,
    lowest,
    index,
    create: [
      `create table ${table} (${columns.map(({ name, type }) => `${name} ${type}, `).join('')}low ${type}, n integer not null,
        most integer not null, stays integer not null, primary key (${values}low)) strict, without rowid`,
      `create index "${title} large" on ${table} (${values}low) where n > most`,
      `create trigger "${title} emptied" after update of n on ${table} when new.n = 0 and not new.stays
        begin delete from ${table} where ${isBlock('new')} new.low; end`,
    ],
    add: (when: string) =>
      `update ${table} set n = n + 1 where ${when} and ${isBlock('new')} ${lowOf('new')};`,
    subtract: (when: string) =>
      `update ${table} set n = n - 1 where ${when} and ${isBlock('old')} ${lowOf('old')};`,
    extend: `with added as materialized (
        select ${values}${lowOf('record')} as low, count(*) as n from "${declaration.plural}" as record not indexed where ${isNext(declaration)}
        group by ${values}low
      ) update ${table} set n = ${table}.n + added.n from added where ${isBlock('added')} added.low`,
    /** Begins with a single block for each combination. */
    begin: (combinations: string) =>
      `insert into ${table} select ${values}${lowest},
         (select count(*) ${isIn('many')} and ${key} is not null and id <= ${through(declaration)}), ${BLOCK}, true
       from ${combinations} as many where not exists (select 1 ${isOf('many')})`,
    /**
     * Splits the first block that is too large: at the key in its middle; or behind its lowest key if half of it have that,
     * so that the block of a key of very many records has no other. Where that is its only key, the next block is there.
     */
    split: [
      `with large as materialized (
         select *, (select ${key} ${isIn('block')} and ${key} >= low order by ${key} limit 1 offset ${BLOCK / 2}) as middle
         from ${large} as block
       ), parts as materialized (
         select *, middle = low as alone, iif(middle > low, middle, ${type === 'text' ? 'low || char(0)' : 'low + 1'}) as upper
         from large
       )
       insert into ${table} select ${values}upper, n - ${below('parts', 'upper')}, ${BLOCK}, alone from parts where true
       on conflict do update set stays = true`,
      `update ${table} set (n, most) = (
         select ${below(table, 'block.low')}, iif(block.stays, ${UNLIMITED}, ${table}.most)
         ${isOf(table)} and block.low > ${table}.low order by block.low limit 1
       ) where (${values}low) = (select ${values}low from ${large})`,
    ] as const,
  };
}

const isKeptBy = (
  declaration: AnyDeclaration,
  { columns }: Pick<ReturnType<typeof keptCounts>, 'columns'>,
  fields: readonly string[],
): boolean => String(columns.map(({ field }) => field)) === String(countedSet(declaration, fields));

const keptOf = memoized((declaration: AnyDeclaration) => {
  const sets = countedSets(declaration);
  const sorts = declaration.sorts.filter(
    (sort) => isFolded((declaration.fields as Fields)[sort]!) || hasRange(declaration, sort),
  );
  return {
    counts: sets.map((fields) => keptCounts(declaration, fields)),
    blocks: sorts.flatMap((sort) => sets.map((fields) => keptBlocks(declaration, fields, sort))),
  };
});

/** The kept counts to sum for lists filtered by these fields. */
export const keptFor = (declaration: AnyDeclaration, fields: readonly string[]) =>
  keptOf(declaration).counts.find((kept) => isKeptBy(declaration, kept, fields))!;

/** The blocks to sum for such lists with a condition on their order. @param sort the field that orders them */
export const blocksFor = (declaration: AnyDeclaration, fields: readonly string[], sort: string) =>
  keptOf(declaration).blocks.find(
    (kept) => kept.key === sortColumn(declaration, sort) && isKeptBy(declaration, kept, fields),
  )!;

/** The statements that create the tables of a record's counts, and the triggers that keep them. */
const statementsOf = memoized((declaration: AnyDeclaration) => {
  const { plural } = declaration;
  const { counts, blocks } = keptOf(declaration);
  const kept = [...counts, ...blocks];
  const isCovered = (row: string) => `${row}.id <= ${through(declaration)}`;
  const trigger = (name: string, event: string, when: string, work: readonly string[]) =>
    `create trigger "${name}" after ${event} on "${plural}" when ${when} begin ${work.join(' ')} end`;
  return {
    tables: [
      `create table ${throughTable(declaration)} (id integer not null, next integer not null) strict`,
      ...kept.flatMap(({ create }) => create),
    ],
    triggers: [
      trigger(
        `${plural} counted in`,
        'insert',
        isCovered('new'),
        kept.map(({ add }) => add('true')),
      ),
      trigger(
        `${plural} counted out`,
        'delete',
        isCovered('old'),
        kept.map(({ subtract }) => subtract('true')),
      ),
      ...kept.map(({ title, watched, add, subtract }) =>
        trigger(
          `${title} moved`,
          `update of ${['id', ...watched].join(', ')}`,
          ['id', ...watched].map((name) => `old.${name} is not new.${name}`).join(' or '),
          [subtract(isCovered('old')), add(isCovered('new'))],
        ),
      ),
    ],
  };
});

/** Begins blocks and splits them. @returns true if there may be more to do */
function split(db: SqliteConnection, declaration: AnyDeclaration): boolean {
  const { counts, blocks } = keptOf(declaration);
  let changes = 0;
  for (const { columns, begin } of blocks)
    db.run(
      begin(
        keptFor(
          declaration,
          columns.map(({ field }) => field),
        ).large,
      ),
      [],
    );
  for (const { accept } of counts) changes += db.run(accept, []);
  for (const { split } of blocks)
    for (let n = 0; n < BLOCKS_AT_ONCE && db.run(split[0], []) > 0; n++) changes += db.run(split[1], []);
  return changes > 0;
}

/** Counts in records that were added, and splits blocks that have become too large. @returns true if more is left */
export function extendCounts(db: SqliteConnection, declaration: AnyDeclaration): boolean {
  const { counts, blocks } = keptOf(declaration);
  const table = throughTable(declaration);
  // What fills the file creates it afterwards.
  if (db.value(`select 1 from sqlite_schema where tbl_name = ?`, [table.slice(1, -1)]) === undefined)
    return false;
  const others = `select id from "${declaration.plural}" where id > ${through(declaration)} order by id limit`;
  db.run(`update ${table} set next = coalesce((select max(id) from (${others} ${RECORDS_AT_ONCE})), id)`, []);
  for (const { extend } of counts) db.run(extend, []);
  for (const kept of blocks)
    if (db.value(`select 1 from ${kept.table} limit 1`) !== undefined) db.run(kept.extend, []);
  db.run(`update ${table} set id = next`, []);
  return split(db, declaration) || db.value(`${others} 1`) !== undefined;
}

/** What there is of a record's counts: triggers, then tables, then indexes. */
const madeOf = (
  db: SqliteConnection,
  { plural }: AnyDeclaration,
): [type: string, name: string, sql: string][] =>
  db.json(
    `select json_group_array(json_array(type, name, sql)) from (
       select * from sqlite_schema where name glob ? order by type desc
     )`,
    [`${plural} count*`],
  )!;

/** The step that brings a record's kept counts in line with its declaration; none if they are up to date. */
export function* missingCounts(db: SqliteConnection, declaration: AnyDeclaration): Generator<() => void> {
  const { tables, triggers } = statementsOf(declaration);
  const made = madeOf(db, declaration).map(([, , sql]) => sql.toLowerCase());
  const wanted = [...tables, ...triggers].map((sql) => sql.toLowerCase());
  if (made.length === wanted.length && wanted.every((sql) => made.includes(sql))) return;
  const make = () => {
    dropCounts(db, declaration);
    db.exec(tables.join(';'));
    db.exec(
      `insert into ${throughTable(declaration)} select coalesce(max(id), 0), 0 from "${declaration.plural}"`,
    );
    for (const { fill } of keptOf(declaration).counts) db.exec(fill);
    while (split(db, declaration));
    db.exec(triggers.join(';'));
  };
  yield () => (db.isInTransaction ? make() : db.transaction(make));
}

/** Removes the kept counts of a record, until {@link missingCounts} creates them again. */
export function dropCounts(db: SqliteConnection, declaration: AnyDeclaration): void {
  for (const [type, name] of madeOf(db, declaration)) db.exec(`drop ${type} if exists "${name}"`);
}
