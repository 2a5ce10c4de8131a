import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { deferred } from '../../../src/foundation/turns.ts';
import { addSampleData } from '../../../src/sample.ts';
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { codeOf } from '../../kit/errors.ts';
import { startServer } from '../../kit/process.ts';
import { endOfLog } from '../../kit/stores.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();

const fill = async () => {
  const store = folder.open();
  await addSampleData(store, api);
  await store.close();
};

describe('an existing file', () => {
  it.each<[what: string, make: () => unknown, message: string]>([
    ['is empty', () => writeFileSync(folder.file, ''), 'is not one of this program'],
    ['is cut to one byte', () => writeFileSync(folder.file, 'S'), 'is not one of this program'],
    ['is text', () => writeFileSync(folder.file, 'notes '.repeat(100)), 'is not one of this program'],
    ["is another program's", () => void folder.outsider().exec('create table t (a)'), 'has layout 0, which'],
    [
      'has a later layout',
      async () => {
        await fill();
        const bytes = readFileSync(folder.file);
        // https://www.sqlite.org/fileformat.html#user_version_number
        bytes.writeUInt32BE(2, 60);
        writeFileSync(folder.file, bytes);
      },
      'has layout 2, which this version cannot read (it reads 1 to 1). It was left as it is. Export it with the version that wrote it',
    ],
  ])('that %s is refused with its name, and left as it is', async (_what, make, message) => {
    await make();
    const before = readFileSync(folder.file);
    const failure = await startServer({ DATA_FILE: folder.file }).catch((error: Error) => error);
    expect((failure as Error).message).toMatch(/^The server ended with 1:\n/);
    expect((failure as Error).message).toContain(`The data file ${folder.file} ${message}`);
    expect(readFileSync(folder.file).equals(before)).toBe(true);
  });

  it('is brought to the latest layout by the migrations it lacks', async () => {
    await fill();
    const migrations = ['create table added (a)', 'insert into added values (7)'];
    const store = folder.open({ migrations });
    expect(await store.table(Pet).count({})).toBeGreaterThan(0);
    await store.close();
    expect(folder.outsider().prepare('select a from added').all([])).toEqual([[7]]);
    expect(() => folder.open()).toThrow('has layout 3, which this version cannot read');
  });

  it('has one server at a time, beside which tools work', async () => {
    const server = folder.open();
    expect(() => folder.open()).toThrow('in use by another server');
    const tool = folder.open({ role: 'tool' });
    await tool.table(Category).insert({ name: 'By a tool' });
    await expect.poll(() => server.table(Category).count({})).toBe(1);
    await expect
      .poll(async () => (await server.eventPage({ limit: 1 })).events)
      .toMatchObject([{ type: 'category.created' }]);
    // At once, before the server looks again by itself.
    await tool.table(Category).insert({ name: 'Second' });
    await server.table(Category).insert({ name: 'Third' });
    const { events } = await server.eventPage({ limit: 9 });
    expect(events.map(({ record }) => record)).toMatchObject(
      ['By a tool', 'Second', 'Third'].map((name, n) => ({ id: `${n + 1}`, name })),
    );
    await server.close();
    folder.open();
  });
});

describe('the log of events', () => {
  it.runIf(process.platform !== 'win32')(
    'is accessible to its owner alone, with all that is beside it',
    async () => {
      writeFileSync(`${folder.file}.lock`, '', { mode: 0o644 });
      await fill();
      const store = folder.open();
      const names = readdirSync(dirname(folder.file)).filter((name) =>
        name.startsWith(basename(folder.file)),
      );
      expect(names.length).toBeGreaterThan(2);
      for (const name of names)
        expect(statSync(join(dirname(folder.file), name)).mode & 0o777, name).toBe(0o600);
      await store.close();
    },
  );

  it('forgets what is older than it keeps, and says so', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    let now = Date.now();
    const store = folder.open({ now: () => now, keepEvents: 60_000 });
    const start = await endOfLog(store);
    now += 86_400_000;
    await store.table(Category).insert({ name: 'Of a clock that was ahead' });
    now -= 86_400_000;
    await store.table(Category).insert({ name: 'Old' });
    now += 61_000;
    await store.table(Category).insert({ name: 'New' });
    for (let i = 0; i < 5; i++) await vi.advanceTimersByTimeAsync(500);
    vi.useRealTimers();
    const { events } = await store.eventPage({ limit: 10 });
    expect(events.map(({ record }) => record.name)).toEqual(['New']);
    await expect(store.eventPage({ after: start, limit: 1 })).rejects.toMatchObject({ code: 'GONE' });
  });
});

describe('a commit', () => {
  it('takes back what takes too long, and refuses what that writes later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const store = folder.open();
    const began = deferred();
    const over = deferred();
    const late = deferred<unknown>();
    const outcome = codeOf(() =>
      store.transaction(async ({ table }) => {
        await table(Category).insert({ name: 'Early' });
        began.resolve();
        await over.promise;
        late.resolve(await codeOf(() => table(Category).insert({ name: 'Late' })));
      }),
    );
    await began.promise;
    vi.advanceTimersByTime(2_000);
    expect(await outcome).toBe('UNAVAILABLE');
    over.resolve();
    expect(await late.promise).toBe('UNAVAILABLE');
    await store.table(Category).insert({ name: 'Next' });
    expect((await store.table(Category).page({}, { limit: 5 })).items).toMatchObject([{ name: 'Next' }]);
  });

  it('has counts in the file 100 ms after a charge, and a ban before anybody is told of it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
    const store = folder.open();
    const tool = folder.open({ role: 'tool' });
    const charge = { apiKeyId: 'k', limits: { perMinute: 60, perDay: 1_000 }, cost: 1, now: Date.now() };
    for (const cost of [1, 2]) {
      const { usage } = await store.charge({ ...charge, cost });
      await vi.advanceTimersByTimeAsync(100);
      await store.transaction(async () => {});
      expect(await tool.usage(['k'])).toEqual([usage]);
    }
    let result = await store.charge({ ...charge, cost: 60 });
    while (result.verdict !== 'banned') result = await store.charge({ ...charge, cost: 60 });
    expect(await tool.usage(['k'])).toEqual([result.usage]);
  });

  it.each([
    ['process', 1],
    ['full', 2],
  ] as const)('with the durability %s is as safe as it says', (durability, synchronous) => {
    const db = folder.closing(new SqliteConnection(`${folder.file}.own`, 10, durability));
    expect(db.value('pragma synchronous')).toBe(synchronous);
  });

  it('shares the fate of writes at the same time, unless they are refused', async () => {
    const store = folder.open();
    const { id } = await store.table(Category).insert({ name: 'Dogs' });
    const outcomes = await Promise.allSettled([
      store.table(Pet).insert({ name: 'Rex', categoryId: id, status: 'available' }),
      store.table(Pet).insert({ name: 'No', categoryId: '999', status: 'available' }),
      store.table(Pet).insert({ name: 'Tom', categoryId: id, status: 'available' }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    const { items } = await store.table(Pet).page({ categoryId: id }, { limit: 5 });
    expect(items.map(({ name }) => name)).toEqual(['Rex', 'Tom']);
  });
});

/** Runs the command that follows in its own mount namespace, if the system allows it. */
const OWN_MOUNTS = ['unshare', '--user', '--map-root-user', '--mount'];
const canMount = spawnSync(OWN_MOUNTS[0]!, [...OWN_MOUNTS.slice(1), 'true']).status === 0;

describe.runIf(canMount)('a data file on a read-only disk', () => {
  it('prevents the start with a message that names the file', async () => {
    await fill();
    const script = `mount --bind "${folder.home}" "${folder.home}" && mount -o remount,bind,ro "${folder.home}" && exec "$@"`;
    const start = [process.execPath, 'dist/main.js'];
    const { status, stderr } = spawnSync(
      OWN_MOUNTS[0]!,
      [...OWN_MOUNTS.slice(1), 'sh', '-c', script, 'sh', ...start],
      { env: { PATH: process.env.PATH, DATA_FILE: folder.file, PORT: '0' }, encoding: 'utf8' },
    );
    expect(stderr).toMatch(/^The data file .* cannot be opened: EROFS: read-only file system/);
    expect(stderr).toContain(folder.file);
    expect(status).toBe(1);
  });
});

describe('a data file in a folder that does not exist', () => {
  it('prevents the start, unless the folder is called data', () => {
    const missing = join(folder.home, 'dta', 'petstore.db');
    expect(() => folder.open({ file: missing })).toThrow(
      `The data file ${missing} cannot be opened: its folder ${join(folder.home, 'dta')} does not exist.`,
    );
    rmSync(join(folder.home, 'data'), { recursive: true });
    folder.open({ file: join(folder.home, 'data', 'petstore.db') });
  });
});
