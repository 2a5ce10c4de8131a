import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LoadOptions, load } from '../../src/cli/load.ts';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import type { Store } from '../../src/store/store.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { printedKey, startCommand, useServer } from '../kit/process.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-load-'));
afterAll(() => rmSync(home, { recursive: true }));
let files = 0;
const fileOf = (content: string | Buffer): string => {
  const file = join(home, `${++files}`);
  writeFileSync(file, content);
  return file;
};

describe.each(engines)('loading a file to $name', (engine) => {
  let opened: OpenedStore;
  let store: Store;
  beforeEach(async () => {
    opened = await engine.open();
    store = opened.store;
  });
  afterEach(() => opened.close());

  const loadFrom = (kind: string, content: string | Buffer, options: Partial<LoadOptions> = {}) =>
    load(store, {
      ...{ record: RECORDS.find(({ plural }) => plural === kind)!, file: fileOf(content) },
      ...{ dryRun: false, from: 1, createParents: false, onProgress: () => {} },
      ...options,
    });
  const pets = async () =>
    (await store.table(Pet).page({}, { limit: 100 })).items.map(
      ({ name, categoryId, status, quantity }) => `${name} ${categoryId} ${status} ${quantity}`,
    );
  const eventTypes = async () => (await store.eventPage({ limit: 100 })).events.map(({ type }) => type);
  const fault = (error: Error) => error.message;

  it.each([
    [
      'commas',
      '\ufeffname,category.name,status,quantity\r\n"Rex, the ""dog""",Dogs,,3\r\n\r\nMimi,Dogs,sold,\r\n',
    ],
    ['semicolons', 'name;category.name;status;quantity\n"Rex, the ""dog""";Dogs;;3\nMimi;Dogs;sold;0'],
    ['tabs', 'name\tcategoryId\tstatus\tquantity\n"Rex, the ""dog"""\t1\t\t3\nMimi\t1\tsold\t'],
    [
      'JSON lines',
      '{"name":"Rex, the \\"dog\\"","categoryId":1,"quantity":3}\n{"name":"Mimi","category.name":"Dogs","status":"sold"}\n',
    ],
  ])('reads %s, with the defaults of any write and an event each', async (_form, content) => {
    await store.table(Category).insert({ name: 'dogs' });
    const { id } = await store.table(Category).insert({ name: 'Dogs' });
    await store.table(Category).insert({ name: 'Dogs and others' });
    await loadFrom(
      'pets',
      content.replaceAll('\t1\t', `\t${id}\t`).replace('"categoryId":1', `"categoryId":${id}`),
    );
    expect(await pets()).toEqual([`Rex, the "dog" ${id} available 3`, `Mimi ${id} sold 0`]);
    expect(await eventTypes()).toEqual([
      ...Array(3).fill('category.created'),
      ...Array(2).fill('pet.created'),
    ]);
  });

  it('names all faults with their line and field, and writes nothing', async () => {
    await store.table(Category).insert({ name: 'Cats' });
    await store.table(Category).insert({ name: 'Cats' });
    const content = [
      'name,category.name,categoryId,status,quantity',
      ',,1,gold,-1',
      '"two\nlines",,1,,',
      'Rex,Dogs,,,',
      'Mimi,Cats,,,',
      'Tom,Cats,1,,',
      'Luna,,99,,',
      'Kiwi,,1',
      'Good,,1,sold,2',
    ].join('\n');
    const message = await loadFrom('pets', content).catch(fault);
    expect(message).toBe(`Nothing was loaded: 10 faults.
line 2: name: is required
line 2: status: must be one of available, pending, sold
line 2: quantity: must be an integer from 0 to 2147483647
line 4: name: must not contain control characters
line 5: category.name: there is no category called Dogs; --create-parents makes it
line 6: category.name: several categories are called Cats; use ids
line 7: category.name: is given beside categoryId
line 7: category.name: several categories are called Cats; use ids
line 8: categoryId: there is no category 99
line 9: Invalid Record Length: columns length is 5, got 3`);
    expect(await pets()).toEqual([]);
  });

  it('says once what is wrong with a header, and shows the first 50 faults', async () => {
    const rows = Array.from({ length: 70 }, (_, n) => `Pet ${n},a\n`).join('');
    const known = 'known: name, categoryId, status, quantity, category.name';
    expect(await loadFrom('pets', `name,colour,name\nRex,red,Tom\n${rows}`).catch(fault)).toBe(
      `Nothing was loaded: the header is wrong.\ncolour: is not a known column (${known})\nname: is there twice`,
    );
    expect(await loadFrom('pets', 'name,name\nRex,Rex').catch(fault)).toMatch(/\nname: is there twice$/);
    const message = await loadFrom('pets', `name,categoryId\n${rows}`).catch(fault);
    expect(message).toMatch(/^Nothing was loaded: 70 faults\.\n(line .*\n){50}… and 20 more$/);
    const unknown = await loadFrom('pets', '{"name":"Rex","categoryId":1,"colour":"red"}').catch(fault);
    expect(unknown).toContain('line 1: colour: is not a known field (known: name, categoryId, ');
  });

  it('creates missing parents once, and nothing on a dry run', async () => {
    const content = 'name,category.name\n'.concat(
      ...Array.from({ length: 30 }, (_, n) => `Pet ${n},${n % 2 ? 'A' : 'B'}\n`),
    );
    const create = { createParents: true };
    const dry = await loadFrom('pets', content, { ...create, dryRun: true });
    expect(dry.lines).toEqual(['30 pets and 2 categories can be loaded. Nothing was written.']);
    expect(await eventTypes()).toEqual([]);
    expect((await loadFrom('pets', content, create)).lines).toEqual(['Loaded 30 pets and 2 categories.']);
    expect(await store.table(Category).count({})).toBe(2);
    expect(await store.table(Pet).count({ categoryId: '1' })).toBe(15);
  });

  it('says which line to continue from, from which exactly the rest is loaded', async () => {
    const { id } = await store.table(Category).insert({ name: 'Dogs' });
    const content = 'name,categoryId\n'.concat(...Array.from({ length: 130 }, (_, n) => `Pet ${n},${id}\n`));
    const file = fileOf(content);
    let commits = 0;
    const interrupted: Store = {
      ...store,
      table: (record) => store.table(record),
      transaction: (work) =>
        ++commits === 2 ? Promise.reject(new Error('The disk is full.')) : store.transaction(work),
    };
    const options = { record: Pet, file, dryRun: false, createParents: false, onProgress: () => {} };
    const stopping = new AbortController();
    stopping.abort(new Error('stopped by SIGINT'));
    expect(await load(store, { ...options, from: 1, signal: stopping.signal }).catch(fault)).toBe(
      'stopped by SIGINT\nLoaded 0 pets. Continue with --from 1.',
    );
    const message = await load(interrupted, { ...options, from: 1 }).catch(fault);
    expect(message).toBe('The disk is full.\nLoaded 100 pets. Continue with --from 102.');
    expect(await store.table(Pet).count({})).toBe(100);
    await load(store, { ...options, from: 102 });
    expect(await store.table(Pet).count({})).toBe(130);
    const names = new Set((await store.eventPage({ limit: 1_000 })).events.map(({ record }) => record.name));
    expect(names.size).toBe(131);
  });

  it('takes chosen ids exactly, once', async () => {
    const big = '9007199254740993';
    const order = `{"id":${big},"complete":true,"shipDate":"2026-01-31T09:30:00Z"}`;
    await loadFrom('orders', `${order}\n{}\n`);
    expect(await loadFrom('orders', `${order}\n{"id":7}\n{"id":7}\n{"id":0}\n[]\nx`).catch(fault)).toBe(
      `Nothing was loaded: 5 faults.
line 1: id: ${big} is taken
line 3: id: 7 is taken
line 4: id: must be an integer from 1 to 9223372036854775807
line 5: The line must be a JSON object.
line 6: The line is not valid JSON.`,
    );
    const csv = await loadFrom('orders', 'id,complete,quantity\n8,TRUE,2\n9,yes,1.5\n').catch(fault);
    expect(csv).toContain('line 3: complete: must be true or false');
    expect(csv).toContain('line 3: quantity: must be an integer');
  });

  it('refuses what is not UTF-8, and files that are not there', async () => {
    expect(
      await loadFrom('pets', Buffer.from('name,categoryId\nM\xfcsli,1\n', 'latin1')).catch(fault),
    ).toMatch(/is not in UTF-8\. Save it as "CSV UTF-8"\.$/);
    const options = { record: Pet, file: join(home, 'none'), dryRun: false, from: 1, createParents: false };
    expect(await load(store, { ...options, onProgress: () => {} }).catch(fault)).toMatch(
      /cannot be read: ENOENT/,
    );
  });
});

const database = `load-${process.pid}`;
const stores: [string, Record<string, string>][] = [
  ['the embedded store', { DATA_FILE: join(home, 'beside.db') }],
];
if (process.env.TEST_MONGODB_URI) stores.push(['MongoDB', { MONGODB_URI: mongoUri(database) }]);
afterAll(async () => {
  if (process.env.TEST_MONGODB_URI) await dropDatabase(database);
});

describe.each(stores)('data load beside a server on %s', (_name, settings) => {
  const server = useServer({ ...settings, SAMPLE_DATA: 'on' });
  const get = async (path: string) =>
    (await fetch(server.url + path, { headers: { 'x-api-key': printedKey(server) } })).json();

  it('adds records that the server shows, announces and counts on from', async () => {
    const { after } = (await (
      await fetch(`${server.url}/events?after=now`, {
        headers: { 'x-api-key': printedKey(server) },
      })
    ).headers.get('link'))!.match(/after=(?<after>[^>]+)>/)!.groups!;
    expect(await get('/pets?status=pending&limit=1&sort=-id')).toMatchObject([{ id: 8 }]);
    const live = get(`/events?after=${after}&wait=25&limit=100`);
    const file = fileOf('name,category.name,status\nRocky,Rocks,pending\nRex,Dogs,\n');
    const loaded = await startCommand('data', settings, 'load', 'pets', file, '--create-parents');
    expect(loaded).toEqual({
      code: 0,
      stderr: expect.stringContaining('next is line 4'),
      stdout: 'Loaded 2 pets and 1 category.\n',
    });
    expect((await live).map(({ type }: { type: string }) => type)[0]).toBe('category.created');
    await expect
      .poll(() => get('/pets?status=pending&limit=1&sort=-id'))
      .toMatchObject([{ id: 11, name: 'Rocky' }]);
    const created = await fetch(`${server.url}/pets`, {
      method: 'POST',
      headers: { 'x-api-key': printedKey(server), 'content-type': 'application/json' },
      body: '{"name":"Next","categoryId":5}',
    });
    expect((await created.json()).id).toBeGreaterThan(12);
    expect(await get('/pets/12')).toMatchObject({ name: 'Rex', categoryId: 1 });
  }, 60_000);
});
