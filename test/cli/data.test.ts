import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import Database from 'libsql';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../../src/access/api-keys.ts';
import { readExport, writeExport } from '../../src/cli/dump-files.ts';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { hashOf } from '../../src/operations/persisted-queries.ts';
import type { Dump } from '../../src/store/dump.ts';
import { openDump, openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import type { Webhook } from '../../src/store/webhooks.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { runCommand, startCommand } from '../kit/process.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-data-'));
const databases: string[] = [];
let places = 0;
const path = () => join(home, `${++places}`);

type Config = Parameters<typeof openStore>[0];
const embedded = (): Config => ({ MONGODB_URI: undefined, DATA_FILE: `${path()}.db`, EVENTS_KEEP: 1e9 });
const mongodb = (): Config => {
  const name = `data-${process.pid}-${++places}`;
  databases.push(name);
  return { ...embedded(), MONGODB_URI: mongoUri(name) };
};
const engines = { sqlite: embedded, ...(process.env.TEST_MONGODB_URI && { mongodb }) };
const atLength = process.env.AT_LENGTH === '1';
const names = Object.keys(engines);
/** From where to where: all pairs of engines at length, else those that read and write each engine once. */
const pairs = names.flatMap((from) =>
  names.filter((to) => atLength || to !== from || names.length === 1).map((to) => [from, to] as const),
);

afterAll(async () => {
  rmSync(home, { recursive: true });
  for (const name of databases) await dropDatabase(name);
});

const open = (config: Config): Promise<Store> => openStore(config, RECORDS, 'server');
const nothing = () => {};
async function use<T>(
  config: Config,
  mode: 'export' | 'import',
  work: (dump: Dump) => Promise<T>,
): Promise<T> {
  const dump = await openDump(config, RECORDS, mode);
  try {
    return await work(dump);
  } finally {
    await dump.close();
  }
}
const exportTo = (config: Config, directory = path()) =>
  use(config, 'export', async (dump) => {
    await writeExport(directory, dump, nothing);
    return directory;
  });
const importFrom = (directory: string, config: Config) =>
  use(config, 'import', (dump) => readExport(directory, dump, nothing));

/** Fills a store with a bit of everything. @returns a key */
async function fill(config: Config, pets = 30): Promise<string> {
  const store = await open(config);
  const category = store.table(Category);
  const { id: categoryId } = await category.insert({ name: 'Dögs "&" ﬁsh', description: 'They\u2028bark' });
  await category.remove((await category.insert({ name: 'Gone' })).id);
  const table = store.table(Pet);
  const added = await Promise.all(
    Array.from({ length: pets }, (_, n) =>
      table.insert({ name: `Rex 🐕 ${n}`, categoryId, status: n % 2 ? 'sold' : 'pending' }),
    ),
  );
  await Promise.all(added.map(({ id }, n) => n % 3 === 0 && table.update(id, { quantity: n })));
  const orders = store.table(Order);
  await orders.insert({
    id: '9223372036854775807',
    petId: '1',
    quantity: 2,
    shipDate: '2026-01-31T09:30:00.5Z',
  });
  await orders.insert({});
  await orders.insert({ id: '3', complete: true });
  await orders.remove((await orders.insert({ id: '4' })).id);
  const limits = { perMinute: 1_000, perDay: 1_000 };
  const { key, apiKey } = newApiKey({ name: 'moved', plan: 'enterprise', limits, now: Date.now() });
  await store.createApiKey(apiKey);
  await store.charge({ apiKeyId: apiKey.id, limits, cost: 7, now: Date.now() });
  const operation = { operation: 'listPets', transport: 'rest', requests: 7, units: 9, refused: 1 } as const;
  const date = new Date().toISOString().slice(0, 10);
  await store.addUsage([{ apiKeyId: apiKey.id, date, ...operation }], { [apiKey.id]: Date.now() });
  const after = await store.endOfEvents();
  const text = '{ pet(id: 1) { name } }';
  await store.addDocuments([
    { list: 'web', id: 'pet', hash: hashOf(text), text, addedAt: 5, lastUsedAt: 6 },
    { list: 'web', id: 'other', hash: hashOf('{ a }'), text: '{ a }', addedAt: 7 },
  ]);
  await store.transaction(({ webhookWrites }) =>
    webhookWrites.createWebhook(
      {
        ...{ id: 'whk_1', apiKeyId: apiKey.id, createdAt: 1, version: 3 },
        settings: { url: 'https://a.test/', enabled: false, secrets: [{ secret: 'whsec_A' }] },
        progress: { after, moves: 2, attempted: 9, attempts: [] },
      },
      1,
    ),
  );
  await store.close();
  return key;
}

/** What clients see: every list with its ETag. */
async function seen(config: Config, key: string) {
  const store = await open(config);
  const clock = new Clock();
  clock.time = Date.now();
  const gateway = await TestGateway.start(store, {}, clock);
  const replies = [];
  for (const list of [
    '/pets',
    '/categories',
    '/store/orders',
    '/store/inventory',
    '/pets?sort=-name',
    '/pets?name=rex',
  ]) {
    const { status, text, headers } = await gateway.call(
      `${list}${list.includes('?') ? '&' : '?'}limit=100`,
      { key },
    );
    replies.push({ list, status, text, etag: headers.etag });
  }
  const { headers } = await gateway.call('/pets/1', { key });
  const documents = await store.documents();
  const [events, usage] = [await gateway.call('/events', { key }), await gateway.call('/usage', { key })];
  const ids = [
    (await store.table(Category).insert({ name: 'Next' })).id,
    (await store.table(Pet).insert({ name: 'Next', categoryId: '1' })).id,
    (await store.table(Order).insert({})).id,
  ];
  const [{ progress, ...webhook }] = (await store.webhooks()) as [Webhook];
  const { json: delivered } = await gateway.call(`/events?after=${progress.after}`, { key });
  await gateway.close();
  await store.close();
  return {
    webhook,
    delivered: delivered.map(({ type, data }: { type: string; data: object }) => [type, data]),
    replies,
    remaining: headers['x-ratelimit-remaining'],
    ids,
    documents,
    events: events.json,
    usage: usage.json,
  };
}

describe.each(pairs)('moving from %s to %s', (from, to) => {
  it('keeps all that clients see and the ids that may come next, but no events: the log begins anew', async () => {
    const [source, target] = [engines[from as 'sqlite'](), engines[to as 'sqlite']()];
    const key = await fill(source);
    const directory = await exportTo(source);
    await importFrom(directory, target);
    expect(await seen(target, key)).toEqual({ ...(await seen(source, key)), events: [] });
    expect(statSync(directory).mode & 0o077).toBe(0);
  });
});

/** The export that is imported to each engine, of more than one batch, and a key in it. */
let directory: string;
let key: string;

describe.each(Object.entries(engines))('an import to %s', (name, newStore) => {
  beforeAll(async () => {
    if (directory !== undefined) return;
    const source = embedded();
    key = await fill(source, 1_300);
    directory = await exportTo(source);
  });

  it('that was interrupted is not served, and is completed by running it again', {
    timeout: 120_000,
  }, async () => {
    const target = newStore();
    for (const writes of name === 'sqlite' ? [1, 2, 3] : [2]) {
      const interrupted = use(target, 'import', (dump) => {
        let left = writes;
        const add: Dump['add'] = (...args) => {
          if (left-- === 0) throw new Error('killed');
          return dump.add(...args);
        };
        return readExport(directory, { ...dump, add }, nothing);
      });
      await expect(interrupted).rejects.toThrow('killed');
      await expect(open(target)).rejects.toThrow(/has an unfinished import\. Run the same import again/);
      await expect(exportTo(target)).rejects.toThrow(/unfinished import/);
    }
    const other = embedded();
    await fill(other, 1);
    await expect(importFrom(await exportTo(other), target)).rejects.toThrow(
      /unfinished import of another export/,
    );
    await importFrom(directory, target);
    const { replies, ids } = await seen(target, key);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(ids).toEqual(['3', '1301', '2']);
    const again = await exportTo(target);
    const { parts } = JSON.parse(readFileSync(join(again, 'manifest.json'), 'utf8'));
    const rows = parts.map((part: { name: string; rows: number }) => [part.name, part.rows]);
    expect(Object.fromEntries(rows)).toMatchObject({
      ...{ categories: 2, pets: 1_301, orders: 4 },
      ...{ usage: 1, usageHistory: expect.any(Number), documents: 2, webhooks: 1, keys: 2 },
    });
  });

  it('is refused by a store that is not empty', async () => {
    const target = newStore();
    const store = await open(target);
    await store.table(Category).insert({ name: 'Here' });
    await store.close();
    await expect(importFrom(directory, target)).rejects.toThrow(
      'The store is not empty: it has categories. Import into an empty store.',
    );
    const after = await open(target);
    expect(await after.table(Pet).count({})).toBe(0);
    await after.close();
  });
});

describe('a damaged export', () => {
  let directory: string;
  let other: string;
  beforeAll(async () => {
    const [one, two] = [embedded(), embedded()];
    await fill(one);
    await fill(two);
    directory = await exportTo(one);
    other = await exportTo(two);
  });

  const edit = (file: string, change: (text: string) => string | Buffer) => (copy: string) =>
    writeFileSync(join(copy, file), change(readFileSync(join(copy, file), 'utf8')));
  const line = (n: number, from: string | RegExp, to: string) => (text: string) => {
    const lines = text.split('\n');
    lines[n - 1] = lines[n - 1]!.replace(from, to);
    return lines.join('\n');
  };

  /** Changes the rows of a file and all checksums, so that it looks as if it had been exported so. */
  const forge = (name: string, change: (rows: Record<string, unknown>[]) => object[]) => (copy: string) => {
    const rows = readFileSync(join(copy, `${name}.jsonl`), 'utf8')
      .split('\n')
      .slice(0, -1);
    const text = change(rows.map((row) => JSON.parse(row.replace(/,"crc32":"\w+"/, ''))))
      .map((row) => JSON.stringify(row))
      .map((json) => `${json.slice(0, -1)},"crc32":"${crc32(json).toString(16).padStart(8, '0')}"}\n`)
      .join('');
    writeFileSync(join(copy, `${name}.jsonl`), text);
    const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8'));
    Object.assign(
      manifest.parts.find((part: { name: string }) => part.name === name),
      {
        rows: text.split('\n').length - 1,
        bytes: Buffer.byteLength(text),
        sha256: createHash('sha256').update(text).digest('hex'),
      },
    );
    writeFileSync(join(copy, 'manifest.json'), JSON.stringify(manifest));
  };
  const changed = (change: object) => (rows: object[]) => rows.map((row) => ({ ...row, ...change }));

  const cut = (lines: number) => (text: string) => `${text.split('\n').slice(0, lines).join('\n')}\n`;
  const reversed = (text: string) => `${text.split('\n').slice(0, -1).reverse().join('\n')}\n`;
  it.each<[message: RegExp, damage: (copy: string) => void]>([
    // As if it had been exported so.
    [/^pets\.jsonl, line 31: id: is not above/, forge('pets', (rows) => [...rows, rows[29]!])],
    [/^pets\.jsonl, line 1: name: is not as an export/, forge('pets', changed({ name: ' Rex ' }))],
    [/^pets\.jsonl, line 1: id: is not as an export/, forge('pets', changed({ id: 1 }))],
    [/^pets\.jsonl, line 1: dog: is not a known field/, forge('pets', changed({ dog: 1 }))],
    [/^keys\.jsonl, line 1: plan: /, forge('keys', changed({ plan: 'gold' }))],
    [/^counters\.jsonl, line 1: /, forge('counters', () => [{ records: 'dogs', last: '5' }])],
    [
      /^counters\.jsonl, line 1: last: must be 0 or more/,
      forge('counters', () => [{ records: 'pets', last: '9223372036854775808' }]),
    ],
    // Changed, cut off, swapped.
    [/^pets\.jsonl, line 1: not a line/, edit('pets.jsonl', (text) => `\ufeff${text}`)],
    [/^pets\.jsonl, line 7: the line does not match its checksum/, edit('pets.jsonl', line(7, 'Rex', 'Max'))],
    [/^pets\.jsonl, line 30: /, edit('pets.jsonl', line(30, '"30"', '"31"'))],
    [/^orders\.jsonl, line 2: not a line of an export/, edit('orders.jsonl', line(2, /.*/, 'nonsense'))],
    [/^pets\.jsonl, line 30: the line is cut off/, edit('pets.jsonl', (text) => text.slice(0, -20))],
    [/^pets\.jsonl, line 21: the file ends here/, edit('pets.jsonl', cut(20))],
    [
      /^pets\.jsonl, line 31: the manifest counts 30 lines/,
      edit('pets.jsonl', (text) => text + cut(1)(text)),
    ],
    [/^pets\.jsonl, line 2: id: is not above/, edit('pets.jsonl', reversed)],
    [/^counters\.jsonl, lines 1 to \d+: .*SHA-256/, edit('counters.jsonl', reversed)],
    [/^keys\.jsonl, lines? 1/, (copy) => cpSync(join(other, 'keys.jsonl'), join(copy, 'keys.jsonl'))],
    [/^usage\.jsonl is missing/, (copy) => rmSync(join(copy, 'usage.jsonl'))],
    [/^dogs\.jsonl does not belong to this export/, (copy) => writeFileSync(join(copy, 'dogs.jsonl'), '')],
    // What an interrupted export leaves beside the manifest.
    [
      /^manifest\.json\.part does not belong to this export/,
      (copy) => cpSync(join(copy, 'manifest.json'), join(copy, 'manifest.json.part')),
    ],
    [
      /has no manifest\.json: it is no export, or one that was not completed/,
      (copy) => rmSync(join(copy, 'manifest.json')),
    ],
    [/^manifest\.json, line \d+: not valid JSON/, edit('manifest.json', (text) => text.slice(0, 80))],
    [
      /^manifest\.json is not the manifest of an export of this version: .*format/,
      edit('manifest.json', () => '{"name": "petstore"}'),
    ],
    [/^manifest\.json is not .*version/, edit('manifest.json', line(3, ': 1', ': 2'))],
    [
      /^manifest\.json: the part dogs is not known/,
      (copy) => {
        renameSync(join(copy, 'usage.jsonl'), join(copy, 'dogs.jsonl'));
        edit('manifest.json', (text) => text.replace('"name": "usage"', '"name": "dogs"'))(copy);
      },
    ],
  ])('is refused before anything is written: %s', async (message, damage) => {
    const copy = path();
    cpSync(directory, copy, { recursive: true });
    damage(copy);
    const target = embedded();
    const error = await importFrom(copy, target).then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).toMatch(message);
    // As a tool: a server has its file checked by a process.
    const store = await openStore(target, RECORDS, 'tool');
    expect(await store.table(Category).count({})).toBe(0);
    await store.close();
  });

  it('names the lines that a store refuses, and stays unfinished', async () => {
    const copy = path();
    cpSync(directory, copy, { recursive: true });
    forge('pets', changed({ categoryId: '77' }))(copy);
    const target = embedded();
    await expect(importFrom(copy, target)).rejects.toThrow(
      'pets.jsonl, lines 1 to 30: FOREIGN KEY constraint failed',
    );
    await expect(open(target)).rejects.toThrow(/unfinished import/);
  });

  it('is not mixed with anything: a directory with files is no place for one', async () => {
    await expect(exportTo(embedded(), directory)).rejects.toThrow(/does not exist/);
    const source = embedded();
    await fill(source, 1);
    await expect(exportTo(source, directory)).rejects.toThrow(/is not empty: .*Name a new directory/);
  });
});

/** The rows that an unfinished import has added, by part. */
async function progressIn({ MONGODB_URI, DATA_FILE }: Config): Promise<Record<string, number>> {
  if (MONGODB_URI !== undefined) {
    const client = new MongoClient(MONGODB_URI);
    const found = await client.db().collection('imports').findOne();
    await client.close();
    return found?.rows ?? {};
  }
  // A connection in this process could outlive its use and keep servers off the file.
  const copy = path();
  for (const suffix of ['', '-wal'])
    if (existsSync(DATA_FILE + suffix)) cpSync(DATA_FILE + suffix, copy + suffix);
  const db = new Database(copy);
  try {
    const [progress] = db.prepare('select progress from unfinished_import').raw().get() as [string];
    return JSON.parse(progress).rows;
  } catch {
    // It has not begun.
    return {};
  } finally {
    db.close();
  }
}

describe('the data command', () => {
  const settings = ({ DATA_FILE, MONGODB_URI }: Config): Record<string, string> => ({
    DATA_FILE,
    ...(MONGODB_URI !== undefined && { MONGODB_URI }),
  });
  const data = (config: Config, ...args: string[]) => runCommand('data', settings(config), ...args);
  const PETS = 3_000;
  let key: string;
  let directory: string;
  /** Pets and categories that a server added while they were exported, always one of each. */
  let pairs: number;

  it('exports one snapshot beside a server that writes, and imports beside none', {
    timeout: 60_000,
  }, async () => {
    const source = embedded();
    key = await fill(source, PETS);
    const server = await open(source);
    let isExporting = true;
    const write = async () => {
      let written = 0;
      for (; isExporting; written++) {
        await server.transaction((writes) => {
          writes.table(Category).insert({ name: 'One of two' });
          writes.table(Pet).insert({ name: 'Two of two', categoryId: '1', status: 'sold' });
        });
        await sleep(1);
      }
      return written;
    };
    const writing = write();
    directory = path();
    const exported = await startCommand('data', settings(source), 'export', directory);
    isExporting = false;
    expect(await writing).toBeGreaterThan(10);
    const [, categories, pets] = /(\S+) categories, (\S+) pets/.exec(exported.stdout)!;
    pairs = Number(categories) - 1;
    expect(Number(pets!.replace(',', '')) - PETS).toBe(pairs);
    expect([exported.code, exported.stderr, exported.stdout]).toEqual([
      0,
      '',
      expect.stringMatching(
        /^Exported \d+ counters, .* pets, 3 orders,.* 1 usage, 1 usageHistory, 2 documents, 1 webhooks, 1 keys\.\n$/,
      ),
    ]);
    const refused = await data(source, 'import', directory);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('is in use by another server'),
    ]);
    await server.close();
  });

  // SecantusDB takes ten seconds for it.
  const killed = Object.entries(engines).filter(([name]) => name === 'sqlite' || atLength);
  it.each(killed)(
    'completes an import to %s that was killed at any point',
    { timeout: 60_000 },
    async (_name, newStore) => {
      const target = newStore();
      // Between two batches of pets, and with all added but the keys.
      const points = [
        ['pets', 1_500, { pets: 1_000 }],
        ['keys', 0, { pets: PETS + pairs, webhooks: 1 }],
      ] as const;
      for (const [file, lines, reached] of atLength ? points : points.slice(0, 1)) {
        const child = spawn(
          process.execPath,
          ['--import', './test/kit/held-file.mjs', 'dist/petstore.js', 'data', 'import', directory],
          {
            env: { ...settings(target), HELD_FILE: `${file}.jsonl`, HELD_LINES: String(lines) },
            stdio: 'ignore',
          },
        );
        const ended = once(child, 'exit');
        await expect
          .poll(() => progressIn(target), { interval: 100, timeout: 20_000 })
          .toMatchObject(reached);
        child.kill('SIGKILL');
        await ended;
        // Not in this process, which may keep the file open until garbage is collected.
        expect((await data(target, 'export', path())).stderr).toMatch(/unfinished import/);
      }
      const imported = await data(target, 'import', directory);
      expect([imported.code, imported.stderr]).toEqual([0, '']);
      const again = await exportTo(target);
      for (const file of ['categories.jsonl', 'pets.jsonl', 'orders.jsonl'])
        expect(readFileSync(join(again, file), 'utf8')).toBe(readFileSync(join(directory, file), 'utf8'));
      expect((await seen(target, key)).ids[1]).toBe(String(PETS + pairs + 1));
    },
  );

  it('says that the disk is full, and goes on once there is room', async () => {
    const target = embedded();
    const child = spawn(
      'bash',
      ['-c', `ulimit -f 600; exec "${process.execPath}" dist/petstore.js data import "${directory}"`],
      {
        env: settings(target),
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    expect(await text(child.stderr)).toMatch(/\.jsonl, lines \d+ to \d+: .*(full|disk I\/O error)/);
    await expect(open(target)).rejects.toThrow(/unfinished import/);
    await importFrom(directory, target);
    expect((await seen(target, key)).ids[1]).toBe(String(PETS + pairs + 1));
  });
});
