import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import Database from 'libsql';
import { Collection, type Document, MongoClient } from 'mongodb';
import { readExport, writeExport } from '../../src/cli/dump-files.ts';
import { RECORDS } from '../../src/domains/index.ts';
import type { SortValue } from '../../src/foundation/cursor.ts';
import type { AnyRecord } from '../../src/foundation/record.ts';
import { openDump, openStore } from '../../src/store/open.ts';
import { SqliteConnection, type Value } from '../../src/store/sqlite/connection.ts';
import type { Store } from '../../src/store/store.ts';
import { LISTS } from '../kit/lists.ts';
import startMongo, { dropDatabase, mongoUri } from '../kit/mongo.ts';
import {
  conclude,
  expectAtMost,
  get,
  type MeasuredServer,
  machine,
  median,
  memoryOf,
  quantile,
  removeData,
  send,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { unlimitedKey } from './seed.ts';

/**
 * `npm run lists [-- --pets 100000,1000000 --mongodb 100000]`: what ordering, finding, exporting and moving
 * cost with so many pets, a tenth as many orders and 1,000 categories. Prints how long `data export` and `data import`
 * take; the processor time and plan of a page for each filter, order and direction, from places all over the list; and,
 * over HTTP, how much the memory of a server that has just started grows by exporting all pets as NDJSON, and the latency
 * of other requests beside a second export and while it stands still. With up to `--mongodb` pets, pages are timed on
 * MongoDB too, if a real one is found as for the tests. Exits with 1 if a figure exceeds {@link LIMITS}. Linux only.
 */
const { values } = parseArgs({
  options: {
    pets: { type: 'string', default: '100000,1000000' },
    mongodb: { type: 'string', default: '100000' },
  },
});
const LIMITS = { pageMs: 20, importSeconds: 300, exportMegabytes: 20, p99Ratio: 1.5 };
const [CATEGORIES, PLACES, PAGE] = [1_000, 5, 20];
/** Milliseconds between two requests beside an export, and of each stretch with or without one. */
const [INTERVAL, WINDOW] = [2, 500];

const home = temporaryFolder();

const configOf = (file: string, MONGODB_URI?: string) => ({
  MONGODB_URI,
  DATA_FILE: join(home, file),
  EVENTS_KEEP: 1e9,
});

async function measure(pets: number): Promise<void> {
  const [source, copy] = [configOf(`${pets}.db`), configOf('copy.db')];
  await fill(source.DATA_FILE, pets);
  console.log(`\n## ${pets.toLocaleString('en-US')} pets, ${machine()}`);
  const directory = join(home, `export-${pets}`);
  const nothing = () => {};
  const exported = await timed(source, 'export', (dump) => writeExport(directory, dump, nothing));
  const imported = await timed(copy, 'import', (dump) => readExport(directory, dump, nothing));
  console.log(`data export ${exported.toFixed(1)} s, data import ${imported.toFixed(1)} s`);
  expectAtMost('seconds of an import', imported, LIMITS.importSeconds);
  removeData(copy.DATA_FILE);

  await measurePages('embedded', source, pets, sqlitePlans(source.DATA_FILE));
  await measureExport(source.DATA_FILE, pets);
  if (process.env.TEST_MONGODB_URI && pets <= Number(values.mongodb) && (await isMongod())) {
    const database = `lists-${process.pid}`;
    const config = configOf('unused.db', mongoUri(database));
    try {
      const seconds = await timed(config, 'import', (dump) => readExport(directory, dump, nothing));
      console.log(`\ndata import to MongoDB ${seconds.toFixed(1)} s`);
      await measurePages('MongoDB', config, pets, mongoPlans());
    } finally {
      await dropDatabase(database);
    }
  }
  rmSync(directory, { recursive: true });
}

/** SecantusDB reads and sorts all that an index has in a range for every page, which at 100,000 pets takes seconds. */
async function isMongod(): Promise<boolean> {
  const client = new MongoClient(mongoUri('admin'));
  const { secantusVersion } = await client.db().command({ buildInfo: 1 });
  await client.close();
  if (secantusVersion) console.log(`\nMongoDB: not measured, since this is SecantusDB ${secantusVersion}`);
  return !secantusVersion;
}

/** @returns seconds */
async function timed(
  config: ReturnType<typeof configOf>,
  mode: 'export' | 'import',
  work: (dump: Awaited<ReturnType<typeof openDump>>) => Promise<unknown>,
): Promise<number> {
  const dump = await openDump(config, RECORDS, mode);
  const began = performance.now();
  try {
    await work(dump);
  } finally {
    await dump.close();
  }
  return (performance.now() - began) / 1_000;
}

/** Creates a data file. Seven in ten pets have no stock, and names repeat, as they do in life. */
async function fill(file: string, pets: number): Promise<void> {
  await (await openStore({ ...configOf(''), DATA_FILE: file }, RECORDS, 'tool')).close();
  const db = new Database(file);
  const numbers = (count: number) =>
    `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${count})`;
  const random = (below: number) => `abs(random() % ${below})`;
  db.exec(`begin;
    insert into categories (name, name_folded) ${numbers(CATEGORIES)}
      select 'Category ' || n, 'category ' || n from numbers;
    insert into pets (name, category_id, status, quantity, name_folded) ${numbers(pets)},
      drawn as materialized (select 'Rex ' || ${random(pets)} as name from numbers)
      select name, 1 + ${random(CATEGORIES)},
        case ${random(3)} when 0 then 'sold' when 1 then 'pending' else 'available' end,
        max(0, ${random(100)} - 70), lower(name) from drawn;
    insert into orders (id, pet_id, quantity, ship_date, complete) ${numbers(pets / 10)}
      select n, 1 + ${random(pets)}, 1, case ${random(3)} when 0 then null else 1767225600000 + ${random(1e10)} end,
        ${random(2)} from numbers;
    update assigned_order_ids set last = ${pets / 10};
    commit`);
  db.close();
}

/** What a page of the embedded store searched. */
function sqlitePlans(file: string): () => string {
  const { value } = SqliteConnection.prototype;
  let sent: [string, Value[]][] = [];
  SqliteConnection.prototype.value = function (this: SqliteConnection, sql: string, params: Value[] = []) {
    sent.push([sql, params]);
    return value.call(this, sql, params);
  };
  const db = new Database(file);
  return () => {
    const plans = sent.flatMap(([sql, params]) =>
      (db.prepare(`explain query plan ${sql}`).all(params) as { detail: string }[])
        .map(({ detail }) => detail)
        .filter((detail) => /SEARCH|SCAN (?!\()|TEMP/.test(detail))
        .map((detail) => detail.replace(/ \w+ USING( COVERING)?/, '')),
    );
    sent = [];
    return [...new Set(plans)].join('; ');
  };
}

/** The indexes that a page of MongoDB names. Lists in the order of ids leave the choice to the server. */
function mongoPlans(): () => string {
  const { aggregate } = Collection.prototype;
  let hints: string[] = [];
  Collection.prototype.aggregate = function (this: Collection, pipeline?: Document[], options?: object) {
    hints.push(JSON.stringify((options as { hint?: object })?.hint ?? {}));
    return aggregate.call(this, pipeline, options) as never;
  };
  return () => {
    const plan = [...new Set(hints)].join('; ');
    hints = [];
    return plan;
  };
}

/** Times pages from the start of each list and from records all over it. */
async function measurePages(
  engine: string,
  config: ReturnType<typeof configOf>,
  pets: number,
  plans: () => string,
): Promise<void> {
  const store = await openStore(config, RECORDS, 'server');
  console.log(
    `\n| ${engine}: list | filter | order | first page | from ${PLACES} places, median | slowest | plan |`,
  );
  console.log('|---|---|---|--:|--:|--:|---|');
  try {
    for (const { record, sorts, filters } of LISTS)
      for (const field of sorts)
        for (const filter of [...filters, ...(field === 'name' ? [{ name: { prefix: 'rex 5' } }] : [])])
          for (const descending of [false, true]) {
            const list = { record, filter, order: { field, descending } };
            const [first, ...others] = await timesOf(store, list, pets, plans);
            const sort = `${descending ? '-' : ''}${field ?? 'id'}`;
            const slowest = Math.max(first!, ...others);
            const cells = [record.plural, JSON.stringify(filter), sort, ms(first!), ms(median(others))];
            console.log(`| ${[...cells, ms(slowest), plans()].join(' | ')} |`);
            if (engine === 'embedded')
              expectAtMost(
                `${record.plural} by ${sort} with ${JSON.stringify(filter)}, ms`,
                slowest,
                LIMITS.pageMs,
              );
          }
  } finally {
    await store.close();
  }
}

const ms = (time: number): string => `${time.toFixed(2)} ms`;

interface List {
  record: AnyRecord;
  filter: Record<string, unknown>;
  order: { field: string | undefined; descending: boolean };
}

/** @returns milliseconds of processor time for the first page and for pages that begin at records all over the list */
async function timesOf(
  store: Store,
  { record, filter, order }: List,
  pets: number,
  plans: () => string,
): Promise<number[]> {
  const table = store.table(record);
  const count = { pets, categories: CATEGORIES, orders: pets / 10 }[record.plural as 'pets'];
  const ids = Array.from({ length: PLACES }, (_, i) => String(Math.ceil(((i + 0.5) / PLACES) * count)));
  const places = (await table.byIds(ids)).map((found, i) => {
    const value = (found as unknown as Record<string, SortValue>)[order.field ?? ''] ?? null;
    return { after: ids[i]!, order: { ...order, afterValue: value } };
  });
  const times: number[] = [];
  plans();
  for (const place of [{ order }, ...places]) {
    const began = process.cpuUsage();
    await table.page(filter as never, { limit: PAGE, ...place });
    const { user, system } = process.cpuUsage(began);
    times.push((user + system) / 1_000);
  }
  return times;
}

/** The memory of a new server that exports all pets, and the latency of a GET without and beside that, in alternation. */
async function measureExport(file: string, pets: number): Promise<void> {
  const store = await openStore({ ...configOf(''), DATA_FILE: file }, RECORDS, 'tool');
  const key = await unlimitedKey(store);
  await store.close();
  const served = join(home, 'served.db');
  copyFileSync(file, served);
  await withServer({ DATA_FILE: served }, (server) => readBeside(server, key, pets));
  removeData(served);
}

async function readBeside(server: MeasuredServer, key: string, pets: number): Promise<void> {
  // What a new server takes for any load is not counted.
  await latencies(server.url, key, 2_000);
  const before = memoryOf(server.child);
  // Its peak until now is forgotten.
  writeFileSync(`/proc/${server.child.pid}/clear_refs`, '5');
  const rows = await reader(server.url, key).done;
  const growth = memoryOf(server.child, 'VmHWM') - before;
  const times: { alone: number[]; beside: number[] } = { alone: [], beside: [] };
  const began = performance.now();
  const { child, done } = reader(server.url, key);
  // While the reader stands still, so does the export.
  while (child.exitCode === null) {
    times.beside.push(...(await latencies(server.url, key, WINDOW)));
    child.kill('SIGSTOP');
    await sleep(WINDOW / 5);
    times.alone.push(...(await latencies(server.url, key, WINDOW)));
    child.kill('SIGCONT');
  }
  const seconds = (performance.now() - began) / 1_000;
  const [alone, beside] = [quantile(times.alone, 0.99), quantile(times.beside, 0.99)];
  console.log(
    `\nexport by HTTP: ${rows} rows, memory ${before.toFixed(0)} MB + ${growth.toFixed(1)} MB; a second one in ${seconds.toFixed(1)} s with pauses: GET /pets/1 p50 ${ms(median(times.alone))} without and ${ms(median(times.beside))} beside it, p99 ${ms(alone)} and ${ms(beside)} (${(beside / alone).toFixed(2)})`,
  );
  expectAtMost('rows missing in exports', 2 * pets - rows - (await done), 0);
  expectAtMost('megabytes for an export', growth, LIMITS.exportMegabytes);
  expectAtMost('p99 beside an export to without', beside / alone, LIMITS.p99Ratio);
}

/** Reads an export in another process. @returns the number of its rows */
function reader(url: string, key: string): { child: ChildProcess; done: Promise<number> } {
  const program = `
    let rows = 0;
    const headers = { accept: 'application/x-ndjson', 'x-api-key': process.argv[2] };
    require('node:http').get(process.argv[1], { headers }, (response) =>
      response.on('data', (chunk) => { for (let i = chunk.indexOf(10); i >= 0; i = chunk.indexOf(10, i + 1)) rows++; })
        .on('end', () => console.log(rows)))`;
  const child = spawn(process.execPath, ['-e', program, `${url}/pets`, key], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (text) => {
    output += text;
  });
  const done = new Promise<number>((resolve) => child.once('close', () => resolve(Number(output))));
  return { child, done };
}

/** Sends a GET every few milliseconds for some time. @returns their latencies in milliseconds */
async function latencies(url: string, key: string, duration: number): Promise<number[]> {
  const times: number[] = [];
  for (const end = performance.now() + duration; performance.now() < end; await sleep(INTERVAL)) {
    const began = performance.now();
    await send(url, get('/pets/1'), key);
    times.push(performance.now() - began);
  }
  return times;
}

const stopMongo = Number(values.mongodb) > 0 ? await startMongo() : async () => {};
try {
  for (const pets of values.pets.split(',').map(Number)) await measure(pets);
} finally {
  await stopMongo();
}
conclude();
