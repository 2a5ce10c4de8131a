import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cases } from '../kit/cases.ts';
import { newFile, temporaryFolder } from '../kit/folder.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { printedKey, startCommand, useServer } from '../kit/process.ts';
import { type Fault, openWire } from '../store/mongo/wire.ts';

const home = temporaryFolder();
let places = 0;
const database = `load-long-${process.pid}`;
const stores = ['the embedded store', ...(process.env.TEST_MONGODB_URI ? ['MongoDB'] : [])];
afterAll(async () => {
  if (process.env.TEST_MONGODB_URI) await dropDatabase(database);
});

describe.each(stores)('data load beside a server on %s', (name) => {
  const settings: Record<string, string> =
    name === 'MongoDB' ? { MONGODB_URI: mongoUri(database) } : { DATA_FILE: join(home, 'beside.db') };
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
    const file = newFile(home, 'name,category.name,status\nRocky,Rocks,pending\nRex,Dogs,\n');
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
  });
});

describe.each(stores)('loads of the built program into %s', (name) => {
  const isEmbedded = name === 'the embedded store';
  const place = (): Record<string, string> =>
    isEmbedded ? { DATA_FILE: join(home, `at-once-${++places}.db`) } : { MONGODB_URI: mongoUri(database) };
  const program = (place: Record<string, string>, ...args: string[]) =>
    startCommand('data', place, 'load', 'pets', ...args, '--create-parents');
  const rows = (prefix: string, count: number) =>
    'name,category.name\n'.concat(
      ...Array.from({ length: count }, (_, n) => `${prefix} ${n},${prefix[0]}${n % 30}\n`),
    );
  /** Exports a store. @returns how often each name is in one of its files */
  const namesOf = async (place: Record<string, string>) => {
    const directory = join(home, `names-${isEmbedded}-${++places}`);
    const exported = await startCommand('data', place, 'export', directory);
    expect(exported, exported.stderr).toMatchObject({ code: 0 });
    return (file: string) => namesIn(directory, file);
  };
  const namesIn = (directory: string, file: string) => {
    const counts = new Map<string, number>();
    for (const line of readFileSync(join(directory, file), 'utf8').trim().split('\n')) {
      const { name } = JSON.parse(line) as { name: string };
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    return counts;
  };

  /** Loads a file, and goes on where the program says once it could not reach its database. @returns what it told */
  const loadWhole = async (at: Record<string, string>, file: string): Promise<string[]> => {
    const told: string[] = [];
    for (let from: string | undefined; ;) {
      const { code, stdout, stderr } = await program(at, file, ...(from ? ['--from', from] : []));
      told.push(stdout || stderr);
      if (code === 0) return told;
      // On a slow machine, the first may take too long to prepare the database.
      expect(stderr).toMatch(
        isEmbedded ? /^$/ : /Continue with --from \d+\.\n$|No response from the database/,
      );
      expect(told.length, told.join('')).toBeLessThan(10);
      from = /Continue with --from (\d+)/.exec(stderr)?.[1] ?? from;
    }
  };

  it('double nothing, though two run at once', async () => {
    for (let round = 0; round < (isEmbedded ? cases(2, 4) : 1); round++) {
      const at = place();
      await Promise.all(['Twice', 'Two'].map((prefix) => loadWhole(at, newFile(home, rows(prefix, 200)))));
      const names = await namesOf(at);
      const parents = [...names('categories.jsonl')].filter(([name]) => /^T\d/.test(name));
      expect(parents).toHaveLength(30);
      expect(parents.every(([, count]) => count === 1)).toBe(true);
      const added = [...names('pets.jsonl')].filter(([name]) => /^(Twice|Two) /.test(name));
      expect(added).toHaveLength(400);
    }
  });

  it.each(isEmbedded ? [2_000, 25_000] : [1_200])(
    'that are killed go on where they were: %i rows',
    async (count) => {
      const at = place();
      const file = newFile(home, rows('Killed', count));
      let from: string | undefined;
      const log: string[] = [];
      for (let kills = 0; ; kills++) {
        const args = [file, '--create-parents', ...(from ? ['--from', from] : [])];
        const child = spawn(process.execPath, ['dist/petstore.js', 'data', 'load', 'pets', ...args], {
          env: { PATH: process.env.PATH, ...at },
        });
        let told = '';
        child.stderr.on('data', (chunk: Buffer) => {
          // At some moment after it has begun to write.
          if (told === '' && kills < 3)
            setTimeout(() => child.kill('SIGKILL'), Math.random() * (isEmbedded ? 250 : 900));
          told += chunk.toString();
        });
        const [code] = await once(child, 'close');
        log.push(`${code} ${told}`);
        from = [...told.matchAll(/next is line (\d+)/g)].at(-1)?.[1] ?? from;
        if (code === 0) break;
        expect([code, told]).toEqual([null, expect.any(String)]);
      }
      const added = [...(await namesOf(at))('pets.jsonl')].filter(([name]) => name.startsWith('Killed'));
      expect(added, log.join('')).toHaveLength(count);
      expect(added.filter(([, times]) => times > 1)).toEqual([]);
    },
  );

  it.runIf(!isEmbedded).each<[what: string, command: string, nth: number, fault: Fault, isTold: boolean]>([
    [
      'a transaction has to be run again',
      'insert pets',
      2,
      { is: 'error', code: 112, name: 'WriteConflict', when: 'before' },
      false,
    ],
    ['the connection ends during a commit', 'commitTransaction', 3, { is: 'cut', when: 'after' }, false],
    [
      'the outcome of a commit stays unknown',
      'commitTransaction',
      3,
      { is: 'error', code: 50, name: 'MaxTimeMSExpired', when: 'after' },
      true,
    ],
  ])('add each row once, though %s', async (what, command, nth, fault, isTold) => {
    const wire = await openWire();
    const at = { MONGODB_URI: wire.uriOf(database) };
    const prefix = `F${what.length}`;
    try {
      wire.arm(command, fault, nth);
      const told = await loadWhole(at, newFile(home, rows(prefix, 600).replaceAll(/,F/g, `,${prefix} of `)));
      expect(/WriteConflict|closed|MaxTimeMSExpired/.test(told.join('')), told.join('')).toBe(isTold);
      expect(wire.disarm()).toBe(false);
      const added = [...(await namesOf(place()))('pets.jsonl')].filter(([name]) => name.startsWith(prefix));
      expect(added).toHaveLength(600);
      expect(added.every(([, times]) => times === 1)).toBe(true);
    } finally {
      await wire.close();
    }
  });
});
