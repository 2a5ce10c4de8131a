import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/sqlite/connection.ts';
import { temporaryFolder } from '../kit/folder.ts';
import {
  createUnlimitedKey,
  endServer,
  runCommand,
  startCommand,
  startServer,
  useServer,
} from '../kit/process.ts';

describe('a backup', () => {
  const home = temporaryFolder();
  const settings = { DATA_FILE: join(home, 'petstore.db') };
  const copy = join(home, 'copy.db');
  const server = useServer(settings);
  let key: string;
  beforeAll(async () => {
    key = await createUnlimitedKey(settings);
  });

  const create = async (name: string) => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const body = JSON.stringify({ name });
    const answer = await fetch(`${server.url}/categories`, { method: 'POST', headers, body });
    expect(answer.status).toBe(201);
  };

  it('is one state of a store that is written meanwhile, which a server can serve', async () => {
    const before = Array.from({ length: 3 }, (_, n) => `Before ${n}`);
    for (const name of before) await create(name);
    let isDone = false;
    let written = 0;
    const writing = (async () => {
      while (!isDone) await create(`Meanwhile ${written++}`);
    })();
    const outcome = await startCommand('data', settings, 'backup', copy).finally(() => (isDone = true));
    await writing;
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(outcome.stdout).toMatch(/^Backed up .*petstore\.db to .*copy\.db \(\d+ MB\)\.\n$/);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(readdirSync(home).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
    const db = openDatabase(copy);
    const value = (sql: string) => db.prepare(sql).get([])![0];
    expect(value('pragma integrity_check')).toBe('ok');
    // With the events and the counts of the same moment.
    const count = value('select count(*) from categories');
    expect(
      value(`select sum(n) from (select n from "categories counted" union all
      select count(*) from categories where id > (select id from "categories counted through"))`),
    ).toBe(count);
    expect(value(`select count(*) from events where type = 'category.created'`)).toBe(count);
    const names = db
      .prepare('select name from categories order by id')
      .all([])
      .map(([name]) => name as string);
    db.close();
    const meanwhile = names.filter((name) => name.startsWith('Meanwhile'));
    expect(names).toEqual(expect.arrayContaining(before));
    expect(meanwhile).toEqual(meanwhile.map((_, n) => `Meanwhile ${n}`));
    expect(meanwhile.length).toBeLessThanOrEqual(written);
    const restored = await startServer({ DATA_FILE: copy });
    const headers = { 'x-api-key': key };
    expect((await fetch(`${restored.url}/categories/1`, { headers })).status).toBe(200);
    await endServer(restored, 'SIGTERM');
  });

  it('does not replace a file, and needs a store and a folder', async () => {
    const there = statSync(copy);
    const { code, stderr } = await runCommand('data', settings, 'backup', copy);
    expect([code, stderr]).toEqual([1, `${copy} is there already. Name a file that does not exist.\n`]);
    expect(statSync(copy).mtimeMs).toBe(there.mtimeMs);
    const nowhere = await runCommand('data', settings, 'backup', join(home, 'no', 'copy.db'));
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('ENOENT')]);
    const missing = { DATA_FILE: join(home, 'other.db') };
    const nothing = await runCommand('data', missing, 'backup', join(home, 'b.db'));
    expect([nothing.code, nothing.stderr]).toEqual([1, expect.stringContaining('other.db does not exist')]);
    const mongodb = { MONGODB_URI: 'mongodb://127.0.0.1:1/petstore' };
    const elsewhere = await runCommand('data', mongodb, 'backup', join(home, 'b.db'));
    expect([elsewhere.code, elsewhere.stderr]).toEqual([1, expect.stringContaining('mongodump')]);
    expect(existsSync(join(home, 'b.db'))).toBe(false);
  });

  /** Runs a script in its own mount namespace, if the system allows it. */
  const OWN_MOUNTS = ['--user', '--map-root-user', '--mount', 'sh', '-c'];
  it.runIf(spawnSync('unshare', [...OWN_MOUNTS, 'true']).status === 0)(
    'that does not fit on the disk is exit code 1 with the reason, and leaves nothing',
    () => {
      const full = join(home, 'full');
      const script = `mkdir '${full}' && mount -t tmpfs -o size=64k none '${full}' &&
        { '${process.execPath}' dist/petstore.js data backup '${full}/copy.db'; echo "$?" "$(ls '${full}')"; }`;
      const env = { PATH: process.env.PATH, ...settings };
      const { stdout, stderr } = spawnSync('unshare', [...OWN_MOUNTS, script], { env, encoding: 'utf8' });
      expect(stderr).toMatch(
        /^.*petstore\.db cannot be backed up to .*copy\.db: database or disk is full\n$/,
      );
      expect(stdout).toBe('1 \n');
    },
  );
});
