import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import type { MaybePromise } from '../../../src/maybe-promise.ts';
import { Connection } from '../../../src/store/sqlite/connection.ts';
import { LATEST, migrate } from '../../../src/store/sqlite/schema.ts';
import {
  openSqliteStore,
  type SqliteOptions,
  type SqliteStore,
} from '../../../src/store/sqlite/sqlite-store.ts';
import type { IdempotentCall, PetstoreWrites } from '../../../src/store/store.ts';

const MAX = 9223372036854775807n;

let home: string;
let file: string;
const opened: { close(): unknown }[] = [];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-sqlite-'));
  file = join(home, 'data', 'petstore.db');
});
afterEach(() => {
  vi.useRealTimers();
  for (const one of opened.splice(0)) one.close();
  rmSync(home, { recursive: true });
});

const open = (options: Partial<SqliteOptions> = {}): SqliteStore => {
  const store = openSqliteStore({ file, role: 'server', busyTimeout: 10, ...options });
  opened.push(store);
  return store;
};

/** Another program at the same file. */
const outsider = () => {
  const db = new Database(file);
  opened.push(db);
  return db;
};

const fault = (code: string) => expect.objectContaining({ code });

const thrownBy = async (run: () => unknown): Promise<unknown> => {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return undefined;
};

describe('the data file', () => {
  it('is made with its directory, for its owner alone', async () => {
    open();
    for (const name of [file, `${file}-wal`]) expect(statSync(name).mode & 0o777).toBe(0o600);
  });

  it('belongs to one server at a time, by whatever path', async () => {
    const first = open();
    const { id } = await first.createCategory({ name: 'Dogs' });
    const link = join(home, 'link.db');
    symlinkSync(file, link);
    for (const path of [file, link]) {
      // In our own words, without those of the system.
      expect(() => open({ file: path })).toThrow(/^The data file \S+ is in use by another server\./);
    }
    expect(first.categoriesById([id])[0]?.name).toBe('Dogs');
    first.close();
    expect(open().categoriesById([id])[0]?.name).toBe('Dogs');
  });

  it('is open to tools beside a server, for API keys only', async () => {
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
    expect(() => tool.createCategory({ name: 'Dogs' })).toThrow(/Only the server/);
    expect(() => tool.charge({ apiKeyId: 'k', limits: key.limits, cost: 1, now: 1 })).toThrow(
      /Only the server/,
    );
    const { id } = await server.createCategory({ name: 'Dogs' });
    expect(tool.categoriesById([id])[0]?.name).toBe('Dogs');
    await server.updateCategory(id, { name: 'Cats' });
    expect(tool.categoriesById([id])[0]?.name).toBe('Cats');
  });

  it('is opened by tools while a server or another program writes', () => {
    open();
    outsider().exec('begin immediate');
    expect(open({ role: 'tool' }).apiKeys()).toEqual([]);
  });

  it('is made once where two programs meet on a new one', () => {
    const meeting = join(home, 'meeting.db');
    const [first, second] = [new Connection(meeting, 10), new Connection(meeting, 10)];
    opened.push(first, second);
    // The other one is quicker, after this one has looked.
    vi.spyOn(first, 'transaction').mockImplementationOnce((work) => {
      migrate(second);
      return first.transaction(work);
    });
    migrate(first);
    expect([first, second].map((db) => db.value('pragma user_version'))).toEqual([LATEST, LATEST]);
  });

  it('that cannot be opened is named, with the reason', () => {
    const failure = (path: string) => {
      try {
        open({ file: path });
      } catch (error) {
        return error as Error;
      }
      return undefined;
    };
    const text = join(home, 'text');
    writeFileSync(text, 'This is a text. '.repeat(100));
    const blocked = join(home, 'blocked.db');
    writeFileSync(`${blocked}.lock`, 'This is a text. '.repeat(100));
    for (const [path, reason] of [
      [home, /EISDIR/],
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

  it('is refused when a newer version has written it', async () => {
    open().close();
    const [known] = outsider().prepare('pragma user_version').raw().get() as [number];
    outsider().exec('pragma user_version = 1000');
    expect(() => open()).toThrow(/schema version 1000/);
    // The failed start gave the file free again.
    outsider().exec(`pragma user_version = ${known}`);
    open();
  });

  it('loses nothing that was acknowledged when the process is killed, and is free at once', async () => {
    const writer = spawn(
      process.execPath,
      ['--import', 'tsx', fileURLToPath(new URL('endless-writer.ts', import.meta.url)), file],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const exited = once(writer, 'exit');
    const lines: string[] = [];
    for await (const line of createInterface(writer.stdout)) {
      if (lines.push(line) === 100) {
        expect(() => open()).toThrow(/in use by another server/);
        writer.kill('SIGKILL');
      }
    }
    await exited;
    const store = open();
    // The last line may be cut.
    for (const line of lines.slice(0, -1)) {
      const [petId, orderId, quantity] = line.split(' ') as [string, string, string];
      expect(store.petsById([petId])[0]?.quantity).toBe(Number(quantity));
      expect(store.ordersById([orderId])[0]?.petId).toBe(petId);
    }
    expect(outsider().pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    expect(store.petCount({})).toBe(store.petPage({}, { limit: 100_000 }).items.length);
  });
});

describe('a database that fails', () => {
  it('is UNAVAILABLE while another process holds it, and nothing is half done', async () => {
    const store = open();
    const { id } = await store.createCategory({ name: 'Dogs' });
    const other = outsider();
    other.exec('begin immediate');
    expect(await thrownBy(() => store.createOrder({ complete: false }))).toEqual(fault('UNAVAILABLE'));
    expect(await thrownBy(() => store.updateCategory(id, { name: 'Cats' }))).toEqual(fault('UNAVAILABLE'));
    expect(store.categoriesById([id])[0]?.name).toBe('Dogs');
    other.exec('commit');
    expect((await store.updateCategory(id, { name: 'Cats' })).name).toBe('Cats');
    expect((await store.createOrder({ complete: false })).id).toBe('1');
  });

  it('is told as what it is, not as a rule that was broken', async () => {
    const store = open();
    const { id: categoryId } = await store.createCategory({ name: 'Dogs' });
    const other = outsider();
    for (const change of ['insert on pets', 'delete on categories'])
      other.exec(`create trigger "${change}" before ${change} begin select raise(abort, 'broken'); end`);
    const write = { name: 'Rex', categoryId, status: 'sold' } as const;
    for (const run of [() => store.createPet(write), () => store.deleteCategory(categoryId)])
      expect(await thrownBy(run)).toMatchObject({ code: 'SQLITE_CONSTRAINT_TRIGGER', message: 'broken' });
  });

  it('is UNAVAILABLE when the disk is full, and works again', async () => {
    open().close();
    const db = new Connection(file, 10);
    opened.push(db);
    const add = (name: string) => db.run('insert into categories (name) values (?)', [name]);
    db.exec(`pragma max_page_count = ${Number(db.value('pragma page_count')) + 5}`);
    const fill = () => {
      for (;;) add('x'.repeat(2_000));
    };
    expect(await thrownBy(() => db.transaction(() => db.transaction(fill)))).toEqual(fault('UNAVAILABLE'));
    expect(db.value('select count(*) from categories')).toBe(0);
    db.transaction(() => add('Dogs'));
    expect(db.value('select count(*) from categories')).toBe(1);
  });

  it('acknowledges no write of a group that the disk did not take', async () => {
    open().close();
    const db = new Connection(file, 10);
    opened.push(db);
    const forgotten = vi.fn();
    db.onRollback(forgotten);
    const add = (name: string) => db.run('insert into categories (name) values (?)', [name]);
    db.exec(`pragma max_page_count = ${Number(db.value('pragma page_count')) + 5}`);
    const writes = await Promise.allSettled([
      db.groupCommit(() => add('Dogs')),
      ...Array.from({ length: 20 }, () => db.groupCommit(() => add('x'.repeat(2_000)))),
    ]);
    const acknowledged = writes.filter(({ status }) => status === 'fulfilled').length;
    expect(db.value('select count(*) from categories')).toBe(acknowledged);
    expect(acknowledged).toBeLessThan(writes.length);
    if (acknowledged === 0) expect(forgotten).toHaveBeenCalled();
    await db.groupCommit(() => add('Cats'));
    expect(db.value('select count(*) from categories')).toBe(acknowledged + 1);
  });

  it('is UNAVAILABLE once closed', async () => {
    const store = open();
    store.ping();
    store.close();
    store.close();
    expect(await thrownBy(() => store.ping())).toEqual(fault('UNAVAILABLE'));
    expect(await thrownBy(() => store.createOrder({ complete: true }))).toEqual(fault('UNAVAILABLE'));
  });
});

describe('what is kept in memory', () => {
  const call: IdempotentCall = { apiKeyId: 'k', idempotencyKey: 'i', fingerprint: 'f', now: 1, keepFor: 9 };

  it('is forgotten when its write is undone', async () => {
    const store = open();
    const category = await store.createCategory({ name: 'Dogs' });
    const pet = await store.createPet({ name: 'Rex', categoryId: category.id, status: 'sold' });
    const gone = await store.createPet({ name: 'Tom', categoryId: category.id, status: 'sold' });
    let made = '';
    await store.once(call, (writes) => {
      writes.updatePet(pet.id, { quantity: 9 });
      writes.updateCategory(category.id, { name: 'Cats' });
      writes.deletePet(gone.id);
      made = (writes.createPet({ name: 'x', categoryId: category.id, status: 'sold' }) as typeof pet).id;
      expect(store.petsById([pet.id])[0]?.quantity).toBe(9);
      throw new AppError('CONFLICT', 'no');
    });
    expect(store.petsById([pet.id, gone.id, made])).toEqual([pet, gone, null]);
    expect(store.categoriesById([category.id])).toEqual([category]);
    expect(store.petCount({})).toBe(2);
  });

  it('never shows a page as it was before a write', async () => {
    const store = open();
    const { id: categoryId } = await store.createCategory({ name: 'Dogs' });
    const names = () => [
      store.petPage({}, { limit: 5 }).items.map(({ name }) => name),
      store.petPagesByCategory([categoryId], {}, { limit: 5 })[0]!.items.map(({ name }) => name),
    ];
    const both = (...expected: string[]) => expect(names()).toEqual([expected, expected]);
    both();
    const { id } = await store.createPet({ name: 'Rex', categoryId, status: 'sold' });
    both('Rex');
    await store.updatePet(id, { name: 'Max' });
    both('Max');
    await store.once(call, (writes) => {
      writes.updatePet(id, { name: 'Tom' });
      both('Tom');
      throw new AppError('CONFLICT', 'no');
    });
    both('Max');
    await store.deletePet(id);
    both();
  });

  it('is what the file has', async () => {
    const store = open();
    const file = open({ role: 'tool' });
    const described = await store.createCategory({ name: 'Dogs', description: 'Loyal' });
    const plain = await store.createCategory({ name: 'Cats' });
    const pet = await store.createPet({ name: 'Rex', categoryId: plain.id, status: 'sold' });
    const same = () => {
      const ids = [described.id, plain.id];
      expect(store.categoriesById(ids)).toStrictEqual(file.categoriesById(ids));
      expect(store.petsById([pet.id])).toStrictEqual(file.petsById([pet.id]));
    };
    same();
    await store.updateCategory(described.id, { name: 'Hounds', description: 'Old' });
    await store.updateCategory(plain.id, { description: 'Proud' });
    await store.updatePet(pet.id, { name: 'Max', categoryId: described.id, status: 'pending', quantity: 3 });
    same();
    await store.updateCategory(described.id, { description: null });
    await store.updatePet(pet.id, { name: 'Tom', quantity: 4 });
    same();
  });

  it('is given again without a read, at once where that is asked', async () => {
    const store = open();
    const category = await store.createCategory({ name: 'Dogs' });
    const pet = await store.createPet({ name: 'Rex', categoryId: category.id, status: 'sold' });
    store.close();
    const again = open();
    expect([again.peekPet(pet.id), again.peekCategory(category.id)]).toEqual([undefined, undefined]);
    const [read] = again.petsById([pet.id]);
    expect(again.petsById([pet.id])[0]).toBe(read);
    expect(again.petsById([pet.id, pet.id])[1]).toBe(read);
    expect(again.peekPet(pet.id)).toBe(read);
    expect(again.peekCategory(category.id)).toBeUndefined();
    expect(again.categoriesById([category.id])[0]).toBe(again.peekCategory(category.id));
    expect(again.petPage({}, { limit: 5 })).toBe(again.petPage({}, { limit: 5 }));
    const tool = open({ role: 'tool' });
    tool.petsById([pet.id]);
    expect(tool.peekPet(pet.id)).toBeUndefined();
  });

  it('may be nothing', async () => {
    const store = open({ cacheSizes: { pets: 0, categories: 0 } });
    const { id: categoryId } = await store.createCategory({ name: 'Dogs' });
    const pet = await store.createPet({ name: 'Rex', categoryId, status: 'sold' });
    expect(store.petPage({}, { limit: 5 }).items).toEqual([pet]);
    await store.updatePet(pet.id, { name: 'Max' });
    expect(store.petPage({}, { limit: 5 }).items).toEqual([{ ...pet, name: 'Max' }]);
    await store.deletePet(pet.id);
    expect(store.petPage({}, { limit: 5 }).items).toEqual([]);
  });

  it('is bounded, and right beyond the bound', async () => {
    const store = open({ cacheSizes: { pets: 2, categories: 1 } });
    const { id: categoryId } = await store.createCategory({ name: 'Dogs' });
    const pets = await Promise.all(
      Array.from({ length: 5 }, (_, i) => store.createPet({ name: `Pet ${i}`, categoryId, status: 'sold' })),
    );
    expect(store.petsById(pets.map(({ id }) => id))).toEqual(pets);
  });

  it("can't be changed by who gets it", async () => {
    const store = open();
    const category = await store.createCategory({ name: 'Dogs' });
    expect(() => {
      category.name = 'Cats';
    }).toThrow(TypeError);
  });

  it('refuses work that goes on after its transaction', async () => {
    const store = open();
    const work = async (writes: PetstoreWrites): Promise<unknown> => writes.createCategory({ name: 'x' });
    await expect(store.once(call, work as () => MaybePromise<unknown>)).rejects.toThrow(
      /must be synchronous/,
    );
    expect(store.categoryCount()).toBe(0);
  });
});

describe('ids at the end of their range', () => {
  it('of orders step over what was chosen, and run out with a CONFLICT', async () => {
    open().close();
    outsider().exec(`update assigned_order_ids set last = ${MAX - 4n}`);
    const store = open();
    await store.createOrder({ id: `${MAX}`, complete: true });
    await store.createOrder({ id: `${MAX - 3n}`, complete: true });
    await store.deleteOrder(`${MAX - 3n}`);
    expect((await store.createOrder({ complete: true })).id).toBe(`${MAX - 2n}`);
    expect((await store.createOrder({ complete: true })).id).toBe(`${MAX - 1n}`);
    for (let i = 0; i < 2; i++) {
      expect(await thrownBy(() => store.createOrder({ complete: true }))).toEqual(fault('CONFLICT'));
    }
    expect(store.orderCount({})).toBe(3);
    expect((await store.createOrder({ id: '7', complete: true })).id).toBe('7');
  });

  it.each([
    ['assigned', []],
    ['next to one that was chosen', [MAX - 1n]],
  ])('of orders may be the largest, %s', async (_where, chosen) => {
    open().close();
    outsider().exec(`update assigned_order_ids set last = ${MAX - 1n - BigInt(chosen.length)}`);
    const store = open();
    for (const id of chosen) await store.createOrder({ id: `${id}`, complete: true });
    expect((await store.createOrder({ complete: true })).id).toBe(`${MAX}`);
    expect(await thrownBy(() => store.createOrder({ complete: true }))).toMatchObject({
      ...{ code: 'CONFLICT', message: 'There are no ids left to assign.' },
    });
  });

  it('of pets are exact, and run out with a CONFLICT', async () => {
    const before = open();
    const { id: categoryId } = await before.createCategory({ name: 'Dogs' });
    await before.createPet({ name: 'Rex', categoryId, status: 'sold' });
    before.close();
    outsider().exec(`update sqlite_sequence set seq = ${MAX - 1n} where name = 'pets'`);
    const store = open();
    const last = await store.createPet({ name: 'Tom', categoryId, status: 'sold' });
    expect(last.id).toBe(`${MAX}`);
    expect(store.petPage({}, { limit: 5, backward: true }).items[1]).toEqual(last);
    expect(await thrownBy(() => store.createPet({ name: 'x', categoryId, status: 'sold' }))).toEqual(
      fault('CONFLICT'),
    );
  });
});

describe('idempotency', () => {
  it('clears expired outcomes away, a few with each call', async () => {
    const store = open();
    const call = (i: number, now: number) =>
      store.once({ apiKeyId: 'k', idempotencyKey: `${i}`, fingerprint: 'f', now, keepFor: 10 }, () => i);
    for (let i = 0; i < 10; i++) await call(i, 1);
    for (let i = 10; i < 14; i++) await call(i, 100);
    expect(outsider().prepare('select count(*) from idempotency').raw().all()).toEqual([[4]]);
  });
});

describe('the use of the keys', () => {
  const limits = { perMinute: 5, perDay: 1_000 };
  const charge = (store: SqliteStore) => store.charge({ apiKeyId: 'k', limits, cost: 1, now: 1_000_000 });

  it('is written down within half a second, for tools to see', async () => {
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

  it('is kept while it cannot be written down, and no more is granted after some seconds', async () => {
    vi.useFakeTimers();
    const store = open();
    const other = outsider();
    other.exec('begin immediate');
    charge(store);
    // Half a second until it is tried, and then three.
    vi.advanceTimersByTime(3_500);
    expect(charge(store).usage.minuteUsed).toBe(2);
    vi.advanceTimersByTime(1);
    expect(await thrownBy(() => charge(store))).toEqual(fault('UNAVAILABLE'));
    other.exec('commit');
    vi.advanceTimersByTime(500);
    expect(charge(store).usage.minuteUsed).toBe(3);
    store.close();
    expect(open().usage(['k'])[0]?.minuteUsed).toBe(3);
  });

  it('leaves no timer behind when it cannot be written down at the end', async () => {
    vi.useFakeTimers();
    const store = openSqliteStore({ file, role: 'server', busyTimeout: 10 });
    charge(store);
    outsider().exec('begin immediate');
    expect(await thrownBy(() => store.close())).toEqual(fault('UNAVAILABLE'));
    expect(vi.getTimerCount()).toBe(0);
    // It is closed all the same.
    expect(await thrownBy(() => store.ping())).toEqual(fault('UNAVAILABLE'));
  });
});
