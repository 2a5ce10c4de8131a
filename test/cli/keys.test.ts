import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { runKeys, type ServerProcess, startServer } from '../kit/process.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-keys-'));
const database = `keys-${randomUUID().slice(0, 8)}`;
const stores: [string, Record<string, string>][] = [
  ['the embedded store', { DATA_FILE: join(home, 'petstore.db') }],
];
if (process.env.TEST_MONGODB_URI) stores.push(['MongoDB', { MONGODB_URI: mongoUri(database) }]);

afterAll(async () => {
  rmSync(home, { recursive: true });
  if (process.env.TEST_MONGODB_URI) await dropDatabase(database);
});

describe.each(stores)('keys beside a running server on %s', (_name, settings) => {
  let server: ServerProcess;
  const keys = (...args: string[]) => runKeys(settings, ...args);
  const create = async (...args: string[]) =>
    JSON.parse((await keys('create', '--name', 'test', '--json', ...args)).stdout);
  const status = async (key: string) =>
    (await fetch(`${server.url}/pets`, { headers: { 'x-api-key': key } })).status;

  beforeAll(async () => {
    server = await startServer(settings);
  }, 60_000);
  afterAll(async () => {
    server.child.kill('SIGTERM');
    await server.exited;
  });

  it('are created, listed with their use, rotated and revoked', async () => {
    const { id, key, plan } = await create('--plan', 'free');
    expect({ id, key, plan }).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^petstore_[\w-]{43}$/),
      plan: 'free',
    });
    expect(await status(key)).toBe(200);

    const rotated = JSON.parse((await keys('rotate', id, '--grace', '1h', '--json')).stdout);
    expect(rotated).toEqual({ id, key: expect.any(String), plan: 'free' });
    const reply = await fetch(`${server.url}/pets`, { headers: { 'x-api-key': rotated.key } });
    expect(reply.headers.get('x-ratelimit-remaining')).toBe('58');

    // The embedded store writes counts down twice a second.
    let listed = { usedToday: 0, name: '' };
    for (let i = 0; i < 20 && listed.usedToday < 2; i++) {
      listed = JSON.parse((await keys('list', '--json')).stdout).find((row: { id: string }) => row.id === id);
    }
    expect(listed).toMatchObject({ name: 'test', plan: 'free', perMinute: 60, perDay: 1000, usedToday: 2 });
    expect((await keys('list')).stdout).not.toContain(key);

    const revokedAt = Date.now();
    expect((await keys('revoke', id)).code).toBe(0);
    while ((await status(rotated.key)) !== 401) {
      expect(Date.now() - revokedAt).toBeLessThan(8_000);
      await sleep(100);
    }
    expect((await keys('rotate', id)).code).toBe(2);
  }, 60_000);

  it('of Enterprise have numbers of their own', async () => {
    const { key } = await create('--plan', 'enterprise', '--per-minute', '7', '--per-day', '9');
    const reply = await fetch(`${server.url}/pets`, { headers: { 'x-api-key': key } });
    expect(reply.headers.get('ratelimit-policy')).toBe('"minute";q=7;w=60, "day";q=9;w=86400');
  }, 30_000);

  it.each([
    [['create', '--plan', 'free'], /--name/],
    [['create', '--name', 'x', '--plan', 'gold'], /--plan must be one of free, pro, business, enterprise/],
    [['create', '--name', 'x', '--plan', 'enterprise'], /--per-minute/],
    [['create', '--name', 'x', '--plan', 'free', '--per-day', '5'], /enterprise/],
    [['create', '--name', 'x', '--plan', 'enterprise', '--per-minute', '0', '--per-day', '5'], /from 1 to/],
    [['revoke'], /ID of a key is missing/],
    [['revoke', 'key_none'], /There is no key key_none/],
    [['rotate', 'key_none', '--grace', 'soon'], /--grace/],
    [['frobnicate'], /Unknown command frobnicate/],
    [['list', '--colour'], /colour/],
  ])(
    'say what is wrong with %j',
    async (args, message) => {
      const { code, stderr, stdout } = await keys(...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(message);
    },
    30_000,
  );
});
