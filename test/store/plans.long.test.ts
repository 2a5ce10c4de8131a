import { join } from 'node:path';
import { BSON, Collection, type Document } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { api } from '../../src/api.ts';
import { Order } from '../../src/domains/order/order.ts';
import type { SortValue } from '../../src/foundation/cursor.ts';
import { isFolded } from '../../src/foundation/fields.ts';
import { Meter } from '../../src/foundation/meter.ts';
import type { AnyDeclaration, Fields } from '../../src/foundation/record.ts';
import type { MongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openDatabase, SqliteConnection, type Value } from '../../src/store/sqlite/connection.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { REQUESTS } from '../../src/store/request-chunks.ts';
import type { PageRequest } from '../../src/foundation/table.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { LISTS } from '../kit/lists.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

/** Conditions that a piece of the order by a field meets: how texts begin, and ranges of other values. */
const conditionsIn = (record: AnyDeclaration, sort: string | undefined): object[] => {
  if (sort === undefined) return [{}];
  const field = (record.fields as Fields)[sort]!;
  if (isFolded(field)) return [{}, { [sort]: { prefix: 're' } }];
  const min = field.example;
  const max = field.example;
  return [{}, { [sort]: { min } }, { [sort]: { max } }, { [sort]: { min, max } }];
};

/** Every kind of page: each filter, order, direction and kind of bound. */
const PAGES = LISTS.flatMap(({ record, sorts, filters }) =>
  sorts.flatMap((sort) =>
    filters.flatMap((filter) =>
      [false, true].flatMap((descending) =>
        conditionsIn(record, sort).flatMap((condition) =>
          [{}, { after: '50' }, { before: '50' }, { after: '50', before: '60', backward: true }].map(
            (bounds) => {
              const { kind, example } = (record.fields as Fields)[sort ?? ''] ?? {};
              const value = (kind === 'id' ? '1' : (example ?? null)) as SortValue;
              const order = { field: sort, descending, afterValue: value, beforeValue: value };
              const request: PageRequest = { limit: 20, ...bounds, order };
              return { record, filter: { ...filter, ...condition }, request };
            },
          ),
        ),
      ),
    ),
  ),
);

/** Adds pets that are all equal but for their ids, so that a search by value alone would read them all. */
function fillWithTies(file: string): void {
  const db = openDatabase(file);
  db.exec(`insert into categories (name, name_folded) values ('Dogs', 'dogs');
    insert into pets (name, category_id, status, quantity, name_folded)
    with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < 100000)
    select 'Rex', 1, 'sold', 3, 'rex' from numbers`);
  db.close();
}

/** The comparisons of a statement with parameters. */
const conditionsOf = (sql: string): string[] =>
  [...sql.replaceAll('"', '').matchAll(/(\w+|\)) ([=<>])=? \(?\?/g)].map(
    ([, column, operator]) => `${column}${operator}?`,
  );

/** The comparisons by which a plan searches. */
const searchesOf = (plan: string): string[] =>
  [...plan.matchAll(/(\w+)([=<>])\?/g)].map(
    ([, column, operator]) => `${column === 'rowid' ? 'id' : column}${operator}?`,
  );

describe('the embedded store', () => {
  const home = temporaryFolder();
  const file = join(home, 'petstore.db');
  const sent = new Map<string, readonly Value[]>();
  const { row, rows } = SqliteConnection.prototype;

  beforeAll(() => {
    SqliteConnection.prototype.row = function (this: SqliteConnection, sql, params = []) {
      sent.set(sql, params);
      return row.call(this, sql, params);
    };
    SqliteConnection.prototype.rows = function (this: SqliteConnection, columns, from, params = []) {
      sent.set(`select ${columns} from ${from}`, params);
      return rows.call(this, columns, from, params);
    };
  });
  afterAll(() => {
    Object.assign(SqliteConnection.prototype, { row, rows });
  });

  it.each([false, true])(
    'reads the pages of many parents by one statement (bounds included: %s)',
    async (inclusive) => {
      const store = openSqliteStore({ records: api.records, file: join(home, 'parents.db'), role: 'server' });
      const reads = vi.spyOn(SqliteConnection.prototype, 'row');
      await store
        .table(Order)
        .pagesByParent('petId', ['1', '2', '3'], {}, { limit: 0, before: '5', inclusive });
      expect(reads).toHaveBeenCalledTimes(1);
      reads.mockRestore();
      await store.close();
    },
  );

  it('finds every page and count of 100,000 records by an index with all conditions, in its order', async () => {
    const store = openSqliteStore({ records: api.records, file, role: 'server' });
    fillWithTies(file);
    sent.clear();
    for (const { record, filter, request } of PAGES) {
      await store.table(record).page(filter as never, request);
      await store.table(record).count(filter as never, new Meter(50));
    }
    await store.close();
    expect(sent.size).toBeGreaterThan(150);
    const db = openDatabase(file);
    const faults: string[] = [];
    // The removal of expired events reads some of the oldest.
    for (const [sql, params] of sent) {
      if (sql.includes('from events')) continue;
      // id, parent, unused, detail
      const plan = db
        .prepare(`explain query plan ${sql}`)
        .all(params)
        .map(([, , , detail]) => detail as string)
        .join('; ');
      // What is kept counted has few rows where it is summed whole.
      const scansTable = /SCAN (pets|orders|categories)(?! USING| count)/.test(plan);
      // A list in the order of its ids is the table itself.
      if (/TEMP B-TREE/.test(plan) || (scansTable && !/ from "\w+" order by id/.test(sql)))
        faults.push(`${sql}\n${plan}`);
      // All else would be read and left out.
      const missing = conditionsOf(sql).filter((condition) => !searchesOf(plan).includes(condition));
      if (missing.length > 0) faults.push(`${sql}\n${plan}\nnot searched by ${missing.join(', ')}`);
    }
    db.close();
    expect(faults).toEqual([]);
  });

  it('looks up outdated objects by their terms, whatever others have', async () => {
    const store = openSqliteStore({ records: api.records, file: join(home, 'terms.db'), role: 'server' });
    sent.clear();
    await store.transaction((own) => own.objects(REQUESTS).deleteBefore(new Map([['key', '~']])));
    const [sql, params] = [...sent].find(([text]) => text.includes('object_terms'))!;
    await store.close();
    const db = openDatabase(join(home, 'terms.db'));
    const plan = db.prepare(`explain query plan ${sql}`).all(params).join('; ');
    db.close();
    expect(plan).toContain('(kind=? AND term=? AND key<?)');
  });
});

/** Queries that differ in these values have the same plan. */
const valueShape = (value: unknown): unknown => (typeof value === 'object' ? value : typeof value);

describe.runIf(engines.length > 1)('MongoDB', () => {
  let opened: OpenedStore;
  const commands: Document[] = [];
  beforeAll(async () => {
    opened = await engines[1]!.open();
  });
  afterAll(() => opened.close());

  it('has an index for every order, and names it in the commands of its pages', async () => {
    const { client } = opened.store as MongoStore;
    const aggregate = Collection.prototype.aggregate;
    Collection.prototype.aggregate = function (this: Collection, pipeline, options) {
      commands.push({ collection: this.collectionName, pipeline, hint: options?.hint });
      return aggregate.call(this, pipeline, options) as never;
    };
    try {
      for (const { record, filter, request } of PAGES)
        await opened.store.table(record).page(filter as never, request);
    } finally {
      Collection.prototype.aggregate = aggregate;
    }
    const indexes = new Map<string, string[]>();
    for (const { plural } of api.records) {
      const listed = await client.db().collection(plural).indexes();
      indexes.set(
        plural,
        listed.map(({ key }) => JSON.stringify(key)),
      );
    }
    expect(commands.length).toBeGreaterThan(100);
    for (const { collection, pipeline, hint } of commands) {
      expect(indexes.get(collection)).toContain(JSON.stringify(hint));
      const [match, sort] = pipeline as [Document, Document];
      // The fields of the sort end the index, in one direction.
      expect(Object.keys(hint).slice(-Object.keys(sort.$sort).length)).toEqual(Object.keys(sort.$sort));
      expect(new Set(Object.values(sort.$sort)).size).toBe(1);
      const conditions = (match.$match.$or ?? [match.$match]).flatMap((one: Document) => Object.keys(one));
      expect(Object.keys(hint)).toEqual(expect.arrayContaining(conditions));
    }
    // SecantusDB sorts what it has read from the index.
    const { secantusVersion } = await client.db().command({ buildInfo: 1 });
    const kinds = new Map(
      commands.map((command) => [
        command.collection + JSON.stringify(command, (_, value) => valueShape(value)),
        command,
      ]),
    );
    expect(kinds.size).toBeGreaterThan(20);
    for (const { collection, pipeline, hint } of kinds.values()) {
      const cursor = client.db().collection(collection).aggregate(pipeline, { hint });
      const plan = BSON.EJSON.stringify(await cursor.explain('queryPlanner'));
      expect(plan).toContain(`"stage":"IXSCAN","keyPattern":${JSON.stringify(hint)}`);
      expect(plan).not.toContain('COLLSCAN');
      if (!secantusVersion) expect(plan).not.toContain('"SORT"');
    }
  });
});
