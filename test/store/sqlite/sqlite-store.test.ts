import { spawn } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { RECORDS } from '../../../src/domains/index.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { AppError } from '../../../src/foundation/errors.ts';
import { deferred, type MaybePromise } from '../../../src/foundation/maybe-promise.ts';
import { lockDataFile } from '../../../src/store/sqlite/ownership.ts';
import { LATEST, migrate } from '../../../src/store/sqlite/schema.ts';
import { openSqliteStore, type SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { IdempotentCall } from '../../../src/store/store.ts';
import type { Tables } from '../../../src/store/table.ts';
import { codeOf, errorOf } from '../../kit/errors.ts';
import { useFolder } from './folder.ts';

const MAX = 9223372036854775807n;

const folder = useFolder();
const { open, outsider, closing, connect } = folder;

const errorWith = (code: string) => expect.objectContaining({ code });

describe('the data file', () => {
  it('is created with its directory, accessible only to its owner', async () => {
    open();
    for (const name of [folder.file, `${folder.file}-wal`]) expect(statSync(name).mode & 0o777).toBe(0o600);
  });

  it('belongs to one server at a time, even through a symbolic link', async () => {
    const first = open();
    const { id } = await first.table(Category).insert({ name: 'Dogs' });
    const link = join(folder.home, 'link.db');
    symlinkSync(folder.file, link);
    for (const path of [folder.file, link]) {
      // The gateway's own message, without SQLite's.
      expect(() => open({ file: path })).toThrow(/^The data file \S+ is in use by another server\./);
    }
    expect(first.table(Category).byIds([id])[0]?.name).toBe('Dogs');
    first.close();
    expect(open().table(Category).byIds([id])[0]?.name).toBe('Dogs');
  });

  /** Serves files in another process, one after the other from a time on. @returns what it printed for each */
  const serve = async (paths: readonly string[], start = 0): Promise<string[]> => {
    const child = spawn(process.execPath, ['dist/test/one-server.js', String(start), ...paths], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      lines.push(line);
      if (lines.length === paths.length) break;
    }
    finish.push(() => child.stdin.end());
    return lines;
  };
  const finish: (() => void)[] = [];
  afterEach(() => {
    for (const each of finish.splice(0)) each();
  });

  it('belongs to one server even if its lock was removed, or through a hard link', async () => {
    open();
    const link = join(folder.home, 'hard.db');
    linkSync(folder.file, link);
    rmSync(`${folder.file}.lock`);
    expect(await serve([link, folder.file])).toEqual(
      [link, folder.file].map((path) =>
        expect.stringContaining(`The data file ${path} is in use by another server`),
      ),
    );
  }, 30_000);

  it('belongs to the last of several servers that found it free', () => {
    const link = join(folder.home, 'hard.db');
    mkdirSync(dirname(folder.file));
    writeFileSync(folder.file, '');
    linkSync(folder.file, link);
    const [first, last] = [folder.file, link].map((path) => ({ path, ownership: lockDataFile(path, 10) }));
    for (const { ownership } of [first!, last!]) closing({ close: () => ownership.release() });
    const confirm = ({ path, ownership }: NonNullable<typeof first>) => {
      const db = connect(path);
      ownership.confirm((sql) => db.value(sql));
    };
    expect(() => confirm(first!)).toThrow(`The data file ${folder.file} is in use by another server`);
    expect(() => confirm(last!)).not.toThrow();
  });

  it.runIf(process.env.AT_LENGTH === '1')(
    'belongs to exactly one of two servers that start at the same moment through different paths',
    async () => {
      const files = Array.from({ length: 20 }, (_, n) => join(folder.home, `shared-${n}.db`));
      // Half of them are new.
      open().close();
      for (const [n, path] of files.entries()) {
        if (n % 2 === 0) writeFileSync(path, '');
        else copyFileSync(folder.file, path);
      }
      const links = files.map((path) => path.replace('shared', 'linked'));
      for (const [n, path] of files.entries()) linkSync(path, links[n]!);
      const start = Date.now() + 1_500;
      const outcomes = await Promise.all([serve(files, start), serve(links, start)]);
      const served = files.map((_, n) => outcomes.filter((lines) => lines[n] === 'opened').length);
      expect(served, outcomes.flat().join('\n')).toEqual(files.map(() => 1));
    },
    30_000,
  );

  it('lets tools beside a server read records but write only API keys', async () => {
    const tool = open({ role: 'tool' });
    const server = open();
    const key = {
      id: 'k',
      name: 'n',
      plan: 'free',
      limits: { perMinute: 60, perDay: 1_000 },
      createdAt: 1,
      secrets: [{ hash: 'h', prefix: 'p' }],
    } as const;
    tool.createApiKey({ ...key, secrets: [...key.secrets] });
    expect(server.apiKeyBySecretHash('h')).toEqual(key);
    tool.revokeApiKey('k', 5);
    expect(server.apiKeyBySecretHash('h')?.revokedAt).toBe(5);
    expect(() => tool.table(Category).insert({ name: 'Dogs' })).toThrow(/Only the server/);
    expect(() => tool.charge({ apiKeyId: 'k', limits: key.limits, cost: 1, now: 1 })).toThrow(
      /Only the server/,
    );
    const { id } = await server.table(Category).insert({ name: 'Dogs' });
    expect(tool.table(Category).byIds([id])[0]?.name).toBe('Dogs');
    await server.table(Category).update(id, { name: 'Cats' });
    expect(tool.table(Category).byIds([id])[0]?.name).toBe('Cats');
  });

  it('can be opened by tools while another program writes', () => {
    open();
    outsider().exec('begin immediate');
    expect(open({ role: 'tool' }).apiKeys()).toEqual([]);
  });

  it('keeps its counts after a tool that knows no records has opened it', async () => {
    const server = open();
    open({ role: 'tool', records: [] });
    await server.table(Category).insert({ name: 'Dogs' });
    await server.table(Pet).insert({ name: 'Rex', categoryId: '1', status: 'available' });
    expect(server.table(Pet).count({})).toBe(1);
  });

  it('is initialized once when two programs create it at the same time', () => {
    const meeting = join(folder.home, 'meeting.db');
    const [first, second] = [connect(meeting), connect(meeting)];
    // The second migrates after the first has checked the version.
    vi.spyOn(first, 'transaction').mockImplementationOnce((work) => {
      migrate(second);
      return first.transaction(work);
    });
    migrate(first);
    expect([first, second].map((db) => db.value('pragma user_version'))).toEqual([LATEST, LATEST]);
  });

  it('is named along with the reason when it cannot be opened', () => {
    const failure = (path: string) => {
      try {
        open({ file: path });
      } catch (error) {
        return error as Error;
      }
      return undefined;
    };
    const text = join(folder.home, 'text');
    writeFileSync(text, 'This is a text. '.repeat(100));
    const blocked = join(folder.home, 'blocked.db');
    writeFileSync(`${blocked}.lock`, 'This is a text. '.repeat(100));
    for (const [path, reason] of [
      [folder.home, /EISDIR/],
      [join(text, 'petstore.db'), /ENOTDIR|EEXIST/],
      [text, /not a database/],
      [blocked, /not a database/],
    ] as const) {
      const error = failure(path)!;
      expect(error.message).toContain(`The data file ${path} cannot be opened: `);
      expect(error.message).toMatch(reason);
      expect((error.cause as { code?: string }).code).toMatch(/^[A-Z_]+$/);
    }
  });

  it('keeps the keys of schema version 3, which could do everything', () => {
    open().close();
    rmSync(folder.file);
    const db = connect(folder.file);
    migrate(db, 3);
    db.exec(`
      insert into api_keys values ('k', 'Old', 'free', 60, 1000, 5, null);
      insert into api_key_secrets values ('abc', 'k', 'petstore_abcdef', null);
    `);
    db.close();
    const store = open();
    const old = {
      ...{ id: 'k', name: 'Old', plan: 'free', limits: { perMinute: 60, perDay: 1_000 }, createdAt: 5 },
      secrets: [{ hash: 'abc', prefix: 'petstore_abcdef' }],
    };
    expect(store.apiKeyBySecretHash('abc')).toEqual(old);
    expect(store.updateApiKey('k', { scopes: ['pets:read'] })).toEqual({ ...old, scopes: ['pets:read'] });
    const used = { operation: 'pets', transport: 'rest' as const, requests: 1, units: 2, refused: 0 };
    const days = [{ date: '2026-11-21', operations: [used] }];
    store.addUsage([{ apiKeyId: 'k', date: '2026-11-21', ...used }], { k: 6 });
    expect(store.usageDays('k', '2026-11-21', '2026-11-21')).toEqual(days);
    expect(store.apiKeyById('k')).toMatchObject({ lastUsedAt: 6 });
    const document = { list: 'web', id: 'pets', text: '{ pets { totalCount } }', hash: 'abc', addedAt: 5 };
    store.addDocuments([document]);
    expect(store.documentById('web', 'pets')).toEqual(document);
  });

  it('is refused if a newer version of the gateway wrote it', async () => {
    open().close();
    const [known] = outsider().prepare('pragma user_version').raw().get() as [number];
    outsider().exec('pragma user_version = 1000');
    expect(() => open()).toThrow(/schema version 1000/);
    // The failed start released the file.
    outsider().exec(`pragma user_version = ${known}`);
    open();
  });
});

describe('database failures', () => {
  it('throws UNAVAILABLE and writes nothing while another process holds the lock', async () => {
    const store = open();
    const { id } = await store.table(Category).insert({ name: 'Dogs' });
    const other = outsider();
    other.exec('begin immediate');
    expect(await codeOf(() => store.table(Order).insert({ complete: false }))).toBe('UNAVAILABLE');
    expect(await codeOf(() => store.table(Category).update(id, { name: 'Cats' }))).toBe('UNAVAILABLE');
    expect(store.table(Category).byIds([id])[0]?.name).toBe('Dogs');
    other.exec('commit');
    expect((await store.table(Category).update(id, { name: 'Cats' })).name).toBe('Cats');
    expect((await store.table(Order).insert({ complete: false })).id).toBe('1');
  });

  it('passes on unexpected constraint errors unchanged', async () => {
    const store = open();
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    const other = outsider();
    for (const change of ['insert on pets', 'delete on categories'])
      other.exec(`create trigger "${change}" before ${change} begin select raise(abort, 'broken'); end`);
    const write = { name: 'Rex', categoryId, status: 'sold' } as const;
    for (const run of [() => store.table(Pet).insert(write), () => store.table(Category).remove(categoryId)])
      expect(await errorOf(run)).toMatchObject({ code: 'SQLITE_CONSTRAINT_TRIGGER', message: 'broken' });
  });

  it('throws UNAVAILABLE when the disk is full, and recovers', async () => {
    open().close();
    const db = connect(folder.file);
    const add = (name: string) => db.run('insert into categories (name) values (?)', [name]);
    db.exec(`pragma max_page_count = ${Number(db.value('pragma page_count')) + 5}`);
    const fill = () => {
      for (;;) add('x'.repeat(2_000));
    };
    expect(await codeOf(() => db.transaction(() => db.transaction(fill)))).toBe('UNAVAILABLE');
    expect(db.value('select count(*) from categories')).toBe(0);
    db.transaction(() => add('Dogs'));
    expect(db.value('select count(*) from categories')).toBe(1);
  });

  it('acknowledges only the writes of a group that the disk had room for', async () => {
    open().close();
    const db = connect(folder.file);
    const onRollback = vi.fn();
    db.onRollback(onRollback);
    const add = (name: string) => db.run('insert into categories (name) values (?)', [name]);
    db.exec(`pragma max_page_count = ${Number(db.value('pragma page_count')) + 5}`);
    const writes = await Promise.allSettled([
      db.groupCommit(() => add('Dogs')),
      ...Array.from({ length: 20 }, () => db.groupCommit(() => add('x'.repeat(2_000)))),
    ]);
    const acknowledged = writes.filter(({ status }) => status === 'fulfilled').length;
    expect(db.value('select count(*) from categories')).toBe(acknowledged);
    expect(acknowledged).toBeLessThan(writes.length);
    // The full disk rolled back the first writes together. Later ones formed a group that fits.
    expect(acknowledged).toBeGreaterThan(0);
    expect(onRollback).toHaveBeenCalledTimes(1);
    expect(writes[0]).toEqual({ status: 'rejected', reason: errorWith('UNAVAILABLE') });
    expect(db.value("select count(*) from categories where name = 'Dogs'")).toBe(0);
    await db.groupCommit(() => add('Cats'));
    expect(db.value('select count(*) from categories')).toBe(acknowledged + 1);
  });

  it('throws UNAVAILABLE once closed', async () => {
    const store = open();
    store.ping();
    store.close();
    store.close();
    expect(await codeOf(() => store.ping())).toBe('UNAVAILABLE');
    expect(await codeOf(() => store.table(Order).insert({ complete: true }))).toBe('UNAVAILABLE');
  });
});

const call: IdempotentCall = { apiKeyId: 'k', idempotencyKey: 'i', fingerprint: 'f', now: 1, keepFor: 9 };

describe('the cache', () => {
  it('drops changes that were rolled back', async () => {
    const store = open();
    const category = await store.table(Category).insert({ name: 'Dogs' });
    const pet = await store.table(Pet).insert({ name: 'Rex', categoryId: category.id, status: 'sold' });
    const deleted = await store.table(Pet).insert({ name: 'Tom', categoryId: category.id, status: 'sold' });
    let createdId = '';
    await store.once(call, (writes) => {
      writes.table(Pet).update(pet.id, { quantity: 9 });
      writes.table(Category).update(category.id, { name: 'Cats' });
      writes.table(Pet).remove(deleted.id);
      createdId = (
        writes.table(Pet).insert({ name: 'x', categoryId: category.id, status: 'sold' }) as typeof pet
      ).id;
      expect(store.table(Pet).byIds([pet.id])[0]?.quantity).toBe(9);
      throw new AppError('CONFLICT', 'no');
    });
    expect(store.table(Pet).byIds([pet.id, deleted.id, createdId])).toEqual([pet, deleted, null]);
    expect(store.table(Category).byIds([category.id])).toEqual([category]);
    expect(store.table(Pet).count({})).toBe(2);
  });

  it('never returns a page from before a write', async () => {
    const store = open();
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    const names = () => [
      store
        .table(Pet)
        .page({}, { limit: 5 })
        .items.map(({ name }) => name),
      store
        .table(Pet)
        .pagesByParent('categoryId', [categoryId], {}, { limit: 5 })[0]!
        .items.map(({ name }) => name),
    ];
    const expectPages = (...expected: string[]) => expect(names()).toEqual([expected, expected]);
    expectPages();
    const { id } = await store.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' });
    expectPages('Rex');
    await store.table(Pet).update(id, { name: 'Max' });
    expectPages('Max');
    await store.once(call, (writes) => {
      writes.table(Pet).update(id, { name: 'Tom' });
      expectPages('Tom');
      throw new AppError('CONFLICT', 'no');
    });
    expectPages('Max');
    await store.table(Pet).remove(id);
    expectPages();
  });

  it('returns records and pages without reading them again, also through cached, except in tools', async () => {
    const store = open();
    const category = await store.table(Category).insert({ name: 'Dogs' });
    const pet = await store.table(Pet).insert({ name: 'Rex', categoryId: category.id, status: 'sold' });
    store.close();
    const again = open();
    expect([again.table(Pet).cached(pet.id), again.table(Category).cached(category.id)]).toEqual([
      undefined,
      undefined,
    ]);
    const [read] = again.table(Pet).byIds([pet.id]);
    expect(again.table(Pet).byIds([pet.id])[0]).toBe(read);
    expect(again.table(Pet).byIds([pet.id, pet.id])[1]).toBe(read);
    expect(again.table(Pet).cached(pet.id)).toBe(read);
    expect(again.table(Category).cached(category.id)).toBeUndefined();
    expect(again.table(Category).byIds([category.id])[0]).toBe(again.table(Category).cached(category.id));
    again.table(Pet).page({}, { limit: 5 });
    expect(again.table(Pet).page({}, { limit: 5 })).toBe(again.table(Pet).page({}, { limit: 5 }));
    const tool = open({ role: 'tool' });
    tool.table(Pet).byIds([pet.id]);
    expect(tool.table(Pet).cached(pet.id)).toBeUndefined();
  });

  it('keeps pages that are read repeatedly while others are read once', async () => {
    const store = open({ cacheSizes: { pets: 20 } });
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    for (let n = 0; n < 100; n++) await store.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' });
    const first = () => store.table(Pet).page({}, { limit: 5 });
    first();
    const known = first();
    for (let after = 0; after < 100; after += 5) {
      store.table(Pet).page({}, { limit: 5, after: String(after) });
      store.table(Pet).page({}, { limit: 5, after: String(after), order: { descending: false } });
    }
    expect(first()).toBe(known);
    const page = (after: number) => store.table(Pet).page({}, { limit: 5, after: String(after) });
    for (let after = 5; after < 30; after += 5) page(after);
    expect(first(), 'more records than its size').not.toBe(known);
    // A client may repeat a value as often as it likes, which must not fill the memory.
    const repeated = () => store.table(Pet).page({ status: Array(500).fill('sold') }, { limit: 5 });
    expect([repeated(), repeated(), repeated()]).toEqual([known, known, known]);
    expect(repeated()).not.toBe(repeated());
  });

  it('keeps no more records than its size', async () => {
    const store = open({ cacheSizes: { categories: 2 } });
    const made = [1, 2, 3, 4, 5].map((n) => store.table(Category).insert({ name: `${n}` }));
    const cached = (await Promise.all(made)).filter(({ id }) => store.table(Category).cached(id));
    expect(cached).toHaveLength(2);
  });

  it('returns frozen records', async () => {
    const store = open();
    const category = await store.table(Category).insert({ name: 'Dogs' });
    expect(() => {
      category.name = 'Cats';
    }).toThrow(TypeError);
  });
});

describe('ids at the end of the int64 range', () => {
  it('skips chosen order ids and throws CONFLICT when none are left', async () => {
    open().close();
    outsider().exec(`update assigned_order_ids set last = ${MAX - 4n}`);
    const store = open();
    await store.table(Order).insert({ id: `${MAX}`, complete: true });
    await store.table(Order).insert({ id: `${MAX - 3n}`, complete: true });
    await store.table(Order).remove(`${MAX - 3n}`);
    expect((await store.table(Order).insert({ complete: true })).id).toBe(`${MAX - 2n}`);
    expect((await store.table(Order).insert({ complete: true })).id).toBe(`${MAX - 1n}`);
    for (let i = 0; i < 2; i++) {
      expect(await codeOf(() => store.table(Order).insert({ complete: true }))).toBe('CONFLICT');
    }
    expect(store.table(Order).count({})).toBe(3);
    expect((await store.table(Order).insert({ id: '7', complete: true })).id).toBe('7');
  });

  it.each([
    ['right after the previous id', []],
    ['after skipping a chosen id', [MAX - 1n]],
  ])('assigns the largest order id %s', async (_name, chosen) => {
    open().close();
    outsider().exec(`update assigned_order_ids set last = ${MAX - 1n - BigInt(chosen.length)}`);
    const store = open();
    for (const id of chosen) await store.table(Order).insert({ id: `${id}`, complete: true });
    expect((await store.table(Order).insert({ complete: true })).id).toBe(`${MAX}`);
    expect(await errorOf(() => store.table(Order).insert({ complete: true }))).toMatchObject({
      ...{ code: 'CONFLICT', message: 'There are no ids left to assign.' },
    });
  });

  it('assigns the largest pet id exactly and then throws CONFLICT', async () => {
    const before = open();
    const { id: categoryId } = await before.table(Category).insert({ name: 'Dogs' });
    await before.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' });
    before.close();
    outsider().exec(`update sqlite_sequence set seq = ${MAX - 1n} where name = 'pets'`);
    const store = open();
    const last = await store.table(Pet).insert({ name: 'Tom', categoryId, status: 'sold' });
    expect(last.id).toBe(`${MAX}`);
    expect(store.table(Pet).page({}, { limit: 5, backward: true }).items[1]).toEqual(last);
    expect(await codeOf(() => store.table(Pet).insert({ name: 'x', categoryId, status: 'sold' }))).toBe(
      'CONFLICT',
    );
  });
});

describe('a transaction that takes time', () => {
  /** A transaction that has written a category and waits. */
  const begin = async (store: SqliteStore) => {
    const [begun, { promise, resolve }] = [deferred(), deferred()];
    const ended = store.transaction(async ({ table }) => {
      await table(Category).insert({ name: 'Within' });
      begun.resolve();
      await promise;
    });
    await begun.promise;
    return { ended, resolve };
  };

  it('keeps the writes of others waiting, not the process', async () => {
    const store = open({ busyTimeout: 10_000 });
    const webhook = {
      ...{ id: 'w', apiKeyId: 'k', createdAt: 1, version: 1 },
      settings: { url: 'https://a.example', enabled: true, secrets: [] },
      progress: { after: store.endOfEvents(), moves: 0, attempted: 0, attempts: [] },
    };
    await store.webhookWrites.createWebhook(webhook, 1);
    store.addDocuments([{ list: 'l', id: 'd', hash: 'h', text: '{ x }', addedAt: 1 }]);
    const { ended, resolve } = await begin(store);
    const { progress } = webhook;
    const waiting = [
      store.table(Category).insert({ name: 'After' }),
      store.once(call, ({ table }) => table(Category).insert({ name: 'Once' })),
      store.addUsage([], { k: 6 }),
      store.touchDocuments([{ list: 'l', id: 'd', lastUsedAt: 7 }]),
      store.saveProgress('i', { id: 'w', version: 1, progress: { ...progress, attempted: 9 } }, undefined),
      store.webhookWrites.changeWebhook('k', 'none', ({ settings }) => ({ settings })),
    ];
    const settled: number[] = [];
    waiting.forEach((write, i) => {
      const note = () => settled.push(i);
      Promise.resolve(write).then(note, note);
    });
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
    expect([settled, store.table(Category).count({})]).toEqual([[], 0]);
    resolve();
    await Promise.allSettled([ended, ...waiting]);
    const { items } = store.table(Category).page({}, { limit: 9 });
    expect(items.map(({ name }) => name)).toEqual(['Within', 'After', 'Once']);
    expect(store.documentById('l', 'd')).toMatchObject({ lastUsedAt: 7 });
    expect(store.webhookById('w')).toMatchObject({ progress: { attempted: 9 } });
    const types = store
      .eventPage({ limit: 9 })
      .events.map(({ record }) => (record as { name?: string }).name);
    expect(types).toEqual(['Within', 'After', 'Once']);
  });

  it('notifies followers of its events together when it is committed, before later events', async () => {
    const store = open();
    const notified: string[][] = [];
    store.followEvents({
      onEvents: (events) =>
        void notified.push(events.map(({ id, record: { name } }) => `${id.split('-').at(-1)} ${name}`)),
      onEnd() {},
    });
    await store.table(Category).insert({ name: 'Before' });
    const { ended, resolve } = await begin(store);
    const after = store.table(Category).insert({ name: 'After' });
    await new Promise(setImmediate);
    expect(notified).toEqual([['1 Before']]);
    resolve();
    await Promise.all([ended, after]);
    expect(notified.slice(1)).toEqual([['2 Within'], ['3 After']]);
  });

  it('is rolled back if the store is closed, which still saves usage', async () => {
    const store = open({ busyTimeout: 10_000 });
    const { ended, resolve } = await begin(store);
    const limits = { perMinute: 5, perDay: 1_000 };
    store.charge({ apiKeyId: 'k', limits, cost: 1, now: 1_000_000 });
    store.close();
    resolve();
    await expect(ended).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    const reopened = open();
    expect(reopened.table(Category).count({})).toBe(0);
    expect(reopened.usage(['k'])[0]?.minuteUsed).toBe(1);
  });
});

describe('idempotency', () => {
  it('refuses asynchronous work in a transaction', async () => {
    const store = open();
    const work = async (writes: Tables): Promise<unknown> => writes.table(Category).insert({ name: 'x' });
    await expect(store.once(call, work as () => MaybePromise<unknown>)).rejects.toThrow(
      /must be synchronous/,
    );
    expect(store.table(Category).count({})).toBe(0);
  });

  it('removes expired outcomes, a few with each call', async () => {
    const store = open();
    const keep = (i: number, now: number) =>
      store.once({ ...call, idempotencyKey: `${i}`, now, keepFor: 10 }, () => i);
    for (let i = 0; i < 10; i++) await keep(i, 1);
    for (let i = 10; i < 14; i++) await keep(i, 100);
    expect(outsider().prepare('select count(*) from idempotency').raw().all()).toEqual([[4]]);
  });
});

describe('the usage of API keys', () => {
  const limits = { perMinute: 5, perDay: 1_000 };
  const charge = (store: SqliteStore) => store.charge({ apiKeyId: 'k', limits, cost: 1, now: 1_000_000 });

  it('is written to the file within 500 ms, for tools to read', async () => {
    vi.useFakeTimers();
    const store = open();
    const tool = open({ role: 'tool' });
    charge(store);
    expect(tool.usage(['k'])).toEqual([null]);
    expect(store.usage(['k'])[0]?.minuteUsed).toBe(1);
    vi.advanceTimersByTime(500);
    expect(tool.usage(['k'])).toEqual(store.usage(['k']));
    charge(store);
    charge(store);
    vi.advanceTimersByTime(500);
    expect(tool.usage(['k'])[0]?.minuteUsed).toBe(3);
  });

  it('is kept while the file is locked; after 3.5 s, charges throw UNAVAILABLE', async () => {
    vi.useFakeTimers();
    const store = open();
    const other = outsider();
    other.exec('begin immediate');
    charge(store);
    // 500 ms until the first attempt, then 3 s.
    vi.advanceTimersByTime(3_500);
    expect(charge(store).usage.minuteUsed).toBe(2);
    vi.advanceTimersByTime(1);
    expect(await codeOf(() => charge(store))).toBe('UNAVAILABLE');
    other.exec('commit');
    vi.advanceTimersByTime(500);
    expect(charge(store).usage.minuteUsed).toBe(3);
    store.close();
    expect(open().usage(['k'])[0]?.minuteUsed).toBe(3);
  });

  it('leaves no timer behind if it cannot be written when the store closes', async () => {
    vi.useFakeTimers();
    const store = openSqliteStore({ records: RECORDS, file: folder.file, role: 'server', busyTimeout: 10 });
    charge(store);
    outsider().exec('begin immediate');
    expect(await codeOf(() => store.close())).toBe('UNAVAILABLE');
    expect(vi.getTimerCount()).toBe(0);
    // The store is closed nevertheless.
    expect(await codeOf(() => store.ping())).toBe('UNAVAILABLE');
  });
});

describe('counts that are not kept', () => {
  const MANY = 50_000;

  it('are refused beyond 50,000 records, for all and for parents together', async () => {
    const store = open();
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    const newPet = async () =>
      (await store.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' })).id;
    const pets = [await newPet(), await newPet(), await newPet()];
    const numbers = 'with recursive n (i) as (select 1 union all select i + 1 from n where i <';
    const db = outsider();
    db.exec(`insert into categories (name) ${numbers} ${MANY - 1}) select 'C' from n`);
    for (const id of pets.slice(0, 2))
      db.exec(`insert into orders (pet_id, complete) ${numbers} ${MANY / 2}) select ${id}, 0 from n`);
    const countOfOrders = (ids: string[]) => store.table(Order).countsByParent('petId', ids, {});
    expect(store.table(Category).count({})).toBe(MANY);
    expect(countOfOrders([...pets, pets[0]!])).toEqual([MANY / 2, MANY / 2, 0, MANY / 2]);
    expect(store.table(Order).count({ petId: pets[0]! })).toBe(MANY / 2);
    db.exec(`insert into categories (name) values ('One more')`);
    db.exec(`insert into orders (pet_id, complete) values (${pets[0]}, 0)`);
    expect(() => store.table(Category).count({})).toThrow(errorWith('QUERY_TOO_COMPLEX'));
    expect(() => countOfOrders(pets)).toThrow(errorWith('QUERY_TOO_COMPLEX'));
    expect(countOfOrders(pets.slice(1))).toEqual([MANY / 2, 0]);
    // Kept, however many there are.
    expect(store.table(Order).count({ complete: false })).toBe(MANY + 1);
  });
});
