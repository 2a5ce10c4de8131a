import { cpSync, existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { newApiKey, generateKey } from '../../src/access/api-keys.ts';
import { readExport, readManifest, writeExport } from '../../src/cli/dump-files.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { formatDate } from '../../src/foundation/instant.ts';
import { hashOf } from '../../src/graphql/named-documents.ts';
import { apiKeyWritesOf } from '../../src/store/stored-api-keys.ts';
import type { DumpTarget } from '../../src/store/dump.ts';
import { openDumpTarget, openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type Webhook, WEBHOOKS, webhookWritesOf } from '../../src/webhooks/stored-webhooks.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { startCommand } from '../kit/process.ts';
import { endOfLog } from '../kit/stores.ts';

const home = temporaryFolder();
const databases: string[] = [];
let places = 0;
const path = () => join(home, `${++places}`);

type Config = Parameters<typeof openStore>[0];
const embedded = (): Config => ({
  MONGODB_URI: undefined,
  DATA_FILE: `${path()}.db`,
  DURABILITY: 'process',
  EVENTS_KEEP: 1e9,
});
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
  for (const name of databases) await dropDatabase(name);
});

const open = (config: Config): Promise<Store> => openStore(config, api, 'server');
const nothing = () => {};
async function exportTo(config: Config, directory = path()): Promise<string> {
  const source = await openStore(config, api, 'snapshot');
  await writeExport(directory, source, api, nothing).finally(() => source.close());
  return directory;
}
async function importFrom(directory: string, config: Config): Promise<void> {
  const manifest = await readManifest(directory, api);
  const target = await openDumpTarget(config, api);
  await readExport(directory, manifest, target, api, nothing).finally(() => target.close());
}

/** Made by the key of {@link fill}; one of them is revoked. */
const [child, revokedChild] = [generateKey(), generateKey()];

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
  for (const { key, secret } of [child, revokedChild]) {
    const made = newApiKey({ name: 'child', plan: 'enterprise', limits, now: Date.now() }, key).apiKey;
    const of = { ...made, owner: apiKey.id, scopes: ['pets:read'], secrets: [generateKey().secret, secret] };
    await store.transaction((own) => apiKeyWritesOf(own).createChild(of, 20));
    if (key === revokedChild.key) await store.revokeApiKey(made.id, Date.now());
  }
  await store.charge({ apiKeyId: apiKey.id, limits, cost: 7, now: Date.now() });
  const operation = { operation: 'listPets', transport: 'rest', requests: 7, units: 9, refused: 1 } as const;
  const date = new Date().toISOString().slice(0, 10);
  await store.addUsage([{ apiKeyId: apiKey.id, date, ...operation }], { [apiKey.id]: Date.now() });
  const after = await endOfLog(store);
  const text = '{ pet(id: 1) { name } }';
  await store.addDocuments([
    { list: 'web', id: 'pet', hash: hashOf(text), text, addedAt: 5, lastUsedAt: 6 },
    { list: 'web', id: 'other', hash: hashOf('{ a }'), text: '{ a }', addedAt: 7 },
  ]);
  await store.transaction((own) =>
    webhookWritesOf(own).create(
      {
        id: 'whk_1',
        apiKeyId: apiKey.id,
        createdAt: 1,
        version: 3,
        settings: { url: 'https://a.test/', enabled: false, secrets: [{ secret: 'whsec_A' }] },
        progress: { after, moves: 2, attempted: 9, attempts: [] },
      },
      1,
    ),
  );
  await store.close();
  return key;
}

/** The store as clients see it: every list with its ETag. */
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
  const keys = [
    (await gateway.call('/keys', { key })).json,
    (await gateway.call('/key', { key: child.key })).json,
    (await gateway.call('/pets/1', { key: child.key })).headers['x-ratelimit-remaining'],
    (await gateway.call('/store/orders', { key: child.key })).status,
    (await gateway.call('/key', { key: revokedChild.key })).status,
    (await store.apiKeys()).filter(({ owner }) => owner !== undefined),
  ];
  const events = await gateway.call('/events', { key });
  const usage = await gateway.call('/usage', { key });
  const ids = [
    (await store.table(Category).insert({ name: 'Next' })).id,
    (await store.table(Pet).insert({ name: 'Next', categoryId: '1' })).id,
    (await store.table(Order).insert({})).id,
  ];
  const [{ progress, ...webhook }] = (await store.objects(WEBHOOKS).all()) as [Webhook];
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
    keys,
    events: events.json,
    usage: usage.json,
  };
}

describe.each(pairs)('moving from %s to %s', (from, to) => {
  it('keeps all that clients see and the ids that may come next, but no events: the log begins anew', async () => {
    const source = engines[from as 'sqlite']();
    const target = engines[to as 'sqlite']();
    const key = await fill(source);
    const directory = await exportTo(source);
    await importFrom(directory, target);
    const before = await seen(source, key);
    expect(await seen(target, key)).toEqual({ ...before, events: [] });
    const [children, ofChild, ...others] = before.keys;
    expect([children, ofChild]).toMatchObject([[{ name: 'child' }], { name: 'child' }]);
    // Its three requests are its owner's too.
    const remaining = String(Number(before.remaining) - 3);
    expect(others).toEqual([remaining, 403, 401, [expect.anything(), expect.anything()]]);
    expect(statSync(directory).mode & 0o077).toBe(0);
  });
});

/** The export that is imported to each engine, and a key in it. */
let directory: string;
let key: string;

beforeAll(async () => {
  const source = embedded();
  key = await fill(source);
  directory = await exportTo(source);
});

describe.each(Object.entries(engines))('an import to %s', (name, newStore) => {
  it('that was killed is not served, and is begun again', async () => {
    const target = newStore();
    // The pets are more than one batch, on MongoDB at length.
    const source = embedded();
    const pets = name === 'sqlite' || atLength ? 1_010 : 30;
    const key = await fill(source, pets);
    const directory = await exportTo(source);
    const manifest = await readManifest(directory, api);
    for (const batches of name === 'sqlite' ? [1, 2, 3] : [2]) {
      const killed = await openDumpTarget(target, api);
      let left = batches;
      const addRecords: DumpTarget['addRecords'] = async (...args) => {
        if (left-- === 0) throw new Error('killed');
        await killed.addRecords(...args);
      };
      await expect(readExport(directory, manifest, { ...killed, addRecords }, api, nothing)).rejects.toThrow(
        /jsonl, lines \d+ to \d+: killed/,
      );
      if (name === 'sqlite') {
        expect(existsSync(target.DATA_FILE)).toBe(false);
        // The end of a process gives its locks up.
        await killed.close();
      } else {
        await expect(open(target)).rejects.toThrow(/unfinished import\. Begin it again/);
        await expect(exportTo(target)).rejects.toThrow(/unfinished import/);
      }
    }
    await importFrom(directory, target);
    const { replies, ids } = await seen(target, key);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(ids).toEqual(['3', `${pets + 1}`, '2']);
    const { parts } = await readManifest(await exportTo(target), api);
    expect(Object.fromEntries(parts.map((part) => [part.name, part.rows]))).toMatchObject({
      categories: 2,
      pets: pets + 1,
      orders: 4,
      usage: 1,
      usageHistory: expect.any(Number),
      documents: 2,
      webhooks: 1,
      keys: 4,
    });
  });

  it('takes what an earlier build has exported, whose rows have checksums', async () => {
    const copy = path();
    const target = newStore();
    cpSync(join(import.meta.dirname, 'earlier-export'), copy, { recursive: true });
    const history = join(copy, 'usageHistory.jsonl');
    const today = formatDate(Date.now());
    writeFileSync(history, readFileSync(history, 'utf8').replaceAll('2026-11-26', today));
    await importFrom(copy, target);
    const { ids, documents, webhook } = await seen(
      target,
      'petstore_FqwlMTvFX38mFpXgKgdrLIJ8LKGf6oRG4gewJx3TFEf31WIWq',
    );
    expect(ids).toEqual(['5', '11', '4']);
    expect(documents).toMatchObject([{ list: 'app', id: 'a', text: '{ pets { nodes { id } } }' }]);
    expect(webhook).toMatchObject({ id: 'whk_4wS05XNzjE9Ycr7r', settings: { types: ['pet.created'] } });
    const exported = await exportTo(target);
    const linesOf = (file: string) => readFileSync(join(exported, file), 'utf8');
    expect(linesOf('pets.jsonl')).not.toContain('crc32');
    expect(linesOf('usageHistory.jsonl')).toContain(`"date":"${today}","operation":"createWebhook"`);
  });

  it('is refused by a store that is not empty or in use, which stays as it is', async () => {
    const target = newStore();
    const store = await open(target);
    await store.table(Category).insert({ name: 'Here' });
    if (name === 'sqlite') await expect(importFrom(directory, target)).rejects.toThrow(/in use/);
    await store.close();
    await expect(importFrom(directory, target)).rejects.toThrow(
      'The store is not empty: it has categories. Import into an empty store.',
    );
    const after = await open(target);
    expect(await after.table(Pet).count({})).toBe(0);
    await after.table(Category).remove('1');
    await after.close();
    await importFrom(directory, target);
    expect((await seen(target, key)).replies[0]!.status).toBe(200);
  });

  it('is refused while another one runs, which loses nothing', async () => {
    const target = newStore();
    const first = await openDumpTarget(target, api);
    // It goes on writing.
    const manifest = await readManifest(directory, api);
    let added = 0;
    let isRefused = false;
    const importing = (async () => {
      for (; !isRefused; await sleep(10))
        await first.addRecords(Category, [{ id: `${1_000 + added++}`, name: 'Later' }]);
      await readExport(directory, manifest, first, api, nothing).finally(() => first.close());
    })();
    try {
      await expect(importFrom(directory, target)).rejects.toThrow(/is in use|Another process is importing/);
      await expect(open(target)).rejects.toThrow(/is in use|unfinished import/);
    } finally {
      isRefused = true;
      await importing;
    }
    const store = await open(target);
    expect(await store.table(Category).count({})).toBe(1 + added);
    await store.close();
  });
});

describe('a damaged export', () => {
  const edit = (file: string, change: (text: string) => string) => (copy: string) =>
    writeFileSync(join(copy, file), change(readFileSync(join(copy, file), 'utf8')));
  const replaced = (from: string | RegExp, to: string) => (text: string) => text.replace(from, to);
  const cut = (lines: number) => (text: string) => `${text.split('\n').slice(0, lines).join('\n')}\n`;

  it.each<[message: RegExp, damage: (copy: string) => void, byStore?: 'by the store']>([
    [/^pets\.jsonl, line 1: dog: is not a known field/, edit('pets.jsonl', replaced('{', '{"dog":1,'))],
    [/^keys\.jsonl, line 1: body: .*object/, edit('keys.jsonl', replaced(/.*/, '7'))],
    [/^orders\.jsonl, line 2: not valid JSON/, edit('orders.jsonl', replaced(/\n.*/, '\nnonsense'))],
    [/^pets\.jsonl, line 30: not valid JSON/, edit('pets.jsonl', (text) => text.slice(0, -20))],
    [/^pets\.jsonl, line 21: the file ends here/, edit('pets.jsonl', cut(20))],
    [
      /^pets\.jsonl, line 31: the manifest counts 30 lines/,
      edit('pets.jsonl', (text) => text + cut(1)(text)),
    ],
    [/^usage\.jsonl is missing: the export is incomplete/, (copy) => rmSync(join(copy, 'usage.jsonl'))],
    [
      /^categories\.jsonl, line 1: not in UTF-8/,
      (copy) => {
        const text = readFileSync(join(copy, 'categories.jsonl'), 'latin1');
        writeFileSync(join(copy, 'categories.jsonl'), text.replace('They', 'Th\xffy'), 'latin1');
      },
    ],
    [
      /^pets\.jsonl, line 30: id: 29 is on an earlier line too/,
      edit('pets.jsonl', replaced(/(.*\n).*\n$/, '$1$1')),
      'by the store',
    ],
    [
      /^pets\.jsonl, line 7: categoryId: there is no category 77/,
      edit('pets.jsonl', replaced(/(?<=\{"id":"7".*"categoryId":)"1"/, '"77"')),
      'by the store',
    ],
    [/^dogs\.jsonl does not belong to this export/, (copy) => writeFileSync(join(copy, 'dogs.jsonl'), '')],
    [/has no manifest\.json: it is not an export, or/, (copy) => rmSync(join(copy, 'manifest.json'))],
    [/^manifest\.json: /, edit('manifest.json', (text) => text.slice(0, 80))],
    [/^manifest\.json: format: /, edit('manifest.json', () => '{}')],
    [/^manifest\.json: version: /, edit('manifest.json', replaced('"version": 1', '"version": 2'))],
    [/^manifest\.json: lastIds/, edit('manifest.json', replaced(/"pets": "\d+"/, '"pets": "-1"'))],
    [
      /^manifest\.json: parts/,
      (copy) => {
        renameSync(join(copy, 'usage.jsonl'), join(copy, 'dogs.jsonl'));
        edit('manifest.json', replaced('"name": "usage"', '"name": "dogs"'))(copy);
      },
    ],
  ])('is refused, and leaves nothing: %s', async (message, damage, byStore) => {
    const copy = path();
    cpSync(directory, copy, { recursive: true });
    damage(copy);
    for (const settings of byStore || atLength ? Object.values(engines) : [embedded]) {
      const target = settings();
      await expect(importFrom(copy, target)).rejects.toThrow(message);
      expect(existsSync(target.DATA_FILE)).toBe(false);
      if (!byStore) continue;
      const store = await open(target);
      expect(await store.table(Category).count({})).toBe(0);
      await store.close();
    }
  });

  it('is not mixed with anything: a directory with files is no place for one', async () => {
    const source = embedded();
    await fill(source, 1);
    await expect(exportTo(source, directory)).rejects.toThrow(/is not empty: .*Name a new directory/);
  });
});

describe('the data command', () => {
  const data = ({ DATA_FILE }: Config, ...args: string[]) => startCommand('data', { DATA_FILE }, ...args);

  it('exports one snapshot beside a server that writes, and imports beside none', async () => {
    const source = embedded();
    await fill(source, 1_200);
    const server = await open(source);
    let isExporting = true;
    const write = async () => {
      let written = 0;
      for (; isExporting; written++) {
        await server.transaction(async (writes) => {
          await writes.table(Category).insert({ name: 'One of two' });
          await writes.table(Pet).insert({ name: 'Two of two', categoryId: '1', status: 'sold' });
        });
        await sleep(1);
      }
      return written;
    };
    const writing = write();
    const directory = path();
    const exported = await data(source, 'export', directory);
    isExporting = false;
    expect(await writing).toBeGreaterThan(10);
    expect([exported.code, exported.stderr]).toEqual([0, '']);
    const [, categories, pets] = /(\S+) categories, (\S+) pets/.exec(exported.stdout.replace('\n', ' '))!;
    expect(Number(pets!.replace(',', '')) - 1_200).toBe(Number(categories) - 1);
    expect(await data(source, 'import', directory)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is in use by another server'),
    });
    await server.close();
    const target = embedded();
    expect((await data(target, 'import', directory)).stdout).toMatch(/^Imported \d+ categories, \d,\d+ pets/);
    expect(existsSync(`${source.DATA_FILE}.export`)).toBe(false);
    expect((await data(embedded(), 'export', path())).stderr).toMatch(/ does not exist\. Is DATA_FILE set/);
  });
});
