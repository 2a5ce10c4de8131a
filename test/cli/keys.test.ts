import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { usedToday } from '../../src/cli/key-commands.ts';
import { DAY } from '../../src/foundation/instant.ts';
import { initialUsage } from '../../src/store/limiter-algorithm.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { dropDatabase, freePort, mongoUri } from '../kit/mongo.ts';
import { runKeys, useServer } from '../kit/process.ts';

const home = temporaryFolder();
const database = `keys-${randomUUID().slice(0, 8)}`;
const stores: [string, Record<string, string>][] = [
  ['the embedded store', { DATA_FILE: join(home, 'petstore.db') }],
];
if (process.env.TEST_MONGODB_URI) stores.push(['MongoDB', { MONGODB_URI: mongoUri(database) }]);

afterAll(async () => {
  if (process.env.TEST_MONGODB_URI) await dropDatabase(database);
});

// They mostly wait for what the command changed to take effect.
describe.concurrent.each(stores)('the keys command beside a server on %s', (name, settings) => {
  const server = useServer(settings);
  const keys = (...args: string[]) => runKeys(settings, ...args);
  const create = async (...args: string[]) =>
    JSON.parse((await keys('create', '--name', 'test', '--json', ...args)).stdout);
  const status = async (key: string) =>
    (await fetch(`${server.url}/pets`, { headers: { 'x-api-key': key } })).status;

  it('creates, lists with usage, rotates and revokes a key', async () => {
    const { id, key, plan } = await create('--plan', 'free');
    expect({ id, key, plan }).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^petstore_[0-9A-Za-z]{49}$/),
      plan: 'free',
    });
    expect(await status(key)).toBe(200);

    const rotated = JSON.parse((await keys('rotate', id, '--grace', '1h', '--json')).stdout);
    expect(rotated).toEqual({ id, key: expect.any(String), plan: 'free' });
    const reply = await fetch(`${server.url}/pets`, { headers: { 'x-api-key': rotated.key } });
    expect(reply.headers.get('x-ratelimit-remaining')).toBe('58');

    // The embedded store saves counts twice a second.
    const listed = async () =>
      JSON.parse((await keys('list', '--json')).stdout).find((row: { id: string }) => row.id === id);
    await vi.waitFor(
      async () =>
        expect(await listed()).toMatchObject({
          name: 'test',
          plan: 'free',
          perMinute: 60,
          perDay: 1000,
          usedToday: 2,
        }),
      5_000,
    );
    expect((await keys('list')).stdout).not.toContain(key);

    const { stdout } = await keys('list');
    const day = new Date().toISOString().slice(0, 10);
    const cells = `${id} free 2 of 1000 (${day}|never) ${rotated.key.slice(9, 15)}… test`;
    expect(stdout).toMatch(new RegExp(`^${cells.replaceAll(' ', ' +')}$`, 'm'));
    const [, expiry] = new RegExp(`^${id}\n  secret ${key.slice(0, 15)}… until (\\S+)$`, 'm').exec(stdout)!;
    expect(Math.abs(Date.parse(expiry!) - Date.now() - 3_600_000)).toBeLessThan(60_000);

    expect((await keys('revoke', id)).code).toBe(0);
    const revokedAt = Date.now();
    while ((await status(rotated.key)) !== 401) {
      expect(Date.now() - revokedAt).toBeLessThan(8_000);
      await sleep(100);
    }
    expect((await keys('rotate', id)).code).toBe(1);
  }, 60_000);

  it('lists each key below the one that made it', async () => {
    const [one, two] = [await create('--plan', 'pro'), await create('--plan', 'free')];
    const make = async (key: string, name: string) => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const body = JSON.stringify({ name, scopes: ['pets:read'] });
      return (await fetch(`${server.url}/keys`, { method: 'POST', headers, body })).json();
    };
    const [a, b, c] = [await make(one.key, 'A'), await make(two.key, 'B'), await make(one.key, 'C')];
    const family = [one, a, c, two, b];
    const { stdout } = await keys('list');
    const table = stdout.slice(0, stdout.indexOf('\n\n')).split('\n');
    const lines = table.filter((line) => family.some(({ id }) => line.includes(id)));
    expect(lines.map((line) => [line.split(' ')[0], line.includes('└')])).toEqual([
      [one.id, false],
      [a.id, true],
      [c.id, true],
      [two.id, false],
      [b.id, true],
    ]);
    expect(lines[1]).toMatch(new RegExp(` ${a.key.slice(9, 15)}… +└ A$`));
    expect(stdout).toContain(`\n${a.id}\n  scopes pets:read\n`);
    const rows: { id: string; owner?: string }[] = JSON.parse((await keys('list', '--json')).stdout);
    const owners = family.map(({ id }) => rows.find((row) => row.id === id)!.owner);
    expect(owners).toEqual([undefined, one.id, one.id, undefined, two.id]);
    expect((await keys('update', c.id, '--plan', 'pro')).stderr).toMatch(/no plan of its own/);
  }, 60_000);

  // The same command, whose last change is waited for.
  const isTried = name === stores[0]![0] || process.env.AT_LENGTH === '1';
  it.runIf(isTried)(
    'changes what a key may do, within 5 seconds, and clears it again',
    async () => {
      const { id, key } = await create(
        '--plan',
        'pro',
        '--scope',
        'orders:write,categories:read',
        '--expires',
        '90d',
        '--allow',
        '127.0.0.0/8,::1',
      );
      const row = async () =>
        JSON.parse((await keys('list', '--json')).stdout).find((each: { id: string }) => each.id === id);
      const created = await row();
      expect(created).toMatchObject({
        name: 'test',
        plan: 'pro',
        scopes: ['orders:write', 'categories:read'],
        allow: ['127.0.0.0/8', '::1'],
      });
      expect(Math.abs(Date.parse(created.expiresAt) - Date.now() - 90 * 86_400_000)).toBeLessThan(60_000);
      expect((await keys('update', id, '--scope', 'pets:read')).stderr).toBe('');
      const { stdout } = await keys('update', id, '--name', 'Old', '--allow', '192.0.2.0/24');
      expect(stdout).toMatch(new RegExp(`^ID .*\n${id} +pro +\\d+ of 10000 +\\S+ +\\S+… +Old\n\n${id}\n`));
      expect(stdout).toContain(`\n  expires ${created.expiresAt}\n  scopes pets:read\n  from 192.0.2.0/24\n`);
      await keys('update', id, '--allow', 'any', '--scope', 'any', '--name', 'Neu', '--expires', 'never');
      const { secrets: _, createdAt: __, ...rest } = await row();
      expect(rest).toMatchObject({ name: 'Neu', plan: 'pro', perMinute: 300, perDay: 10_000 });
      for (const cleared of ['scopes', 'allow', 'expiresAt']) expect(rest).not.toHaveProperty(cleared);
      expect(await status(key)).toBe(200);
      await keys('update', id, '--expires', '1s');
      await vi.waitFor(async () => expect(await status(key)).toBe(401), { timeout: 8_000, interval: 200 });
    },
    60_000,
  );

  it('says on rotation how long the old secret works', async () => {
    const { id, key } = await create('--plan', 'pro');
    const withDefault = await keys('rotate', id);
    const [, expiry] = withDefault.stdout.match(
      new RegExp(`The old secret ${key.slice(0, 15)}… works until (\\S+)\\.`),
    )!;
    expect(Math.abs(Date.parse(expiry!) - Date.now() - 24 * 3_600_000)).toBeLessThan(60_000);
    const withoutGrace = await keys('rotate', id, '--grace', '0');
    expect(withoutGrace.stdout).toContain('The old secret stops working within 5 seconds.');
    expect(withoutGrace.stdout).not.toContain('works until');
  }, 30_000);
});

it('lists as used today only what was used in the open day window', () => {
  const usage = { ...initialUsage(), dayStart: 1_000, dayUsed: 40 };
  expect(usedToday(null, 2_000)).toBe(0);
  expect(usedToday(usage, 999 + DAY)).toBe(40);
  expect(usedToday(usage, 1_000 + DAY)).toBe(0);
});

const MANY_NETWORKS = Array.from({ length: 21 }, (_, i) => `10.0.${i}.0/24`).join();

describe('the keys command', () => {
  it('explains what it cannot carry out: exits with 2 if it is malformed, else with 1', async () => {
    const refused: [call: string, message: RegExp][] = [
      ['create --plan free', /^create requires --name and --plan\./],
      ['create --name a\nb --plan free', /'--name <name>' argument .* and no control characters\./s],
      [`create --name ${'😀'.repeat(201)} --plan pro`, /is invalid\. It must have 1 to 200 characters/],
      ['create --name= --plan pro', /is invalid\. It must have 1 to 200 characters/],
      ['create --name x --plan x', /Allowed choices are free, pro, business, enterprise\./],
      ['create --name x --plan pro --expires x', /is invalid\. It must be a duration such as/],
      ['create --name x --plan pro --expires 2020-01-01', /or never; not past\./],
      ['create --name x --plan pro --expires 0', /or never; not past\./],
      ['create --name x --plan pro --expires 2027-02-30', /It must be a duration such as/],
      ['create --name x --plan pro --scope events:write', /'events:write' is invalid\. It must be any, or/],
      ['create --name x --plan pro --scope pets:read --scope x', /argument 'x' is invalid\./],
      ['create --name x --plan pro --allow 1.2/3', /argument '1\.2\/3' is invalid\./],
      [
        `create --name x --plan pro --allow ${MANY_NETWORKS}`,
        /or at most 20 networks such as 10\.0\.0\.0\/8\./,
      ],
      ['create --name x --plan pro --documents a/b', /It must be the name of a list/],
      ['usage key_none --days 93', /It must be an integer from 1 to 92\./],
      ['update key_none', /^Nothing to change: name an option\./],
      ['update key_none --per-day 5', /^Name --plan enterprise, --per-minute and --per-day together/],
      ['create --name x --plan enterprise', /^Name --plan enterprise, --per-minute and --per-day together/],
      ['create --name x --plan enterprise --per-minute 0 --per-day 5', /from 1 to/],
      ['create --name x --plan free --grace 1h', /unknown option '--grace'/],
      ['create x', /too many arguments/],
      ['create --nmae', /Did you mean --name\?/],
      ['revoke', /missing required argument 'id'/],
      ['rotate key_none --grace soon', /argument 'soon' is invalid\. It must be a duration/],
      ['lst', /Did you mean list\?/],
    ];
    for (const [call, message] of refused) {
      const { code, stderr, stdout } = await runKeys(stores[0]![1], ...call.split(' '));
      expect({ code, stdout }, call).toEqual({ code: 2, stdout: '' });
      expect(stderr, call).toMatch(message);
    }
    for (const call of ['update key_none --name x', 'rotate key_none', 'revoke key_none', 'usage key_none'])
      expect(await runKeys(stores[0]![1], ...call.split(' ')), call).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(/^There is no active key key_none\.\n$/),
      });
  });

  it('creates no data file by reading', async () => {
    const file = join(home, 'misspelt', 'petstore.db');
    for (const args of [['list'], ['revoke', 'key_none'], ['update', 'key_none', '--name', 'x']]) {
      expect(await runKeys({ DATA_FILE: file }, ...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: `The data file ${file} does not exist. Is DATA_FILE set as for the server?\n`,
      });
    }
    expect(existsSync(dirname(file))).toBe(false);
  });

  it('names the host and the variable, but no password, if the database is unreachable', async () => {
    const port = await freePort();
    const uri = `mongodb://user:secret@127.0.0.1:${port}/petstore?serverSelectionTimeoutMS=300`;
    const { code, stderr } = await runKeys({ MONGODB_URI: uri }, 'list');
    expect(code).toBe(1);
    expect(stderr).toContain(`The database at 127.0.0.1:${port} (MONGODB_URI) cannot be used: `);
    expect(stderr).toContain('ECONNREFUSED');
    expect(stderr).not.toContain('secret');
  }, 30_000);

  it('lists its commands, and fits 80 columns', async () => {
    for (const args of [[], ['--help'], ['create', '--help'], ['list']]) {
      const { stdout, stderr } = await runKeys(stores[0]![1], ...args);
      for (const line of `${stdout}${stderr}`.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    }
    const { code, stdout } = await runKeys({}, '--help');
    expect(code).toBe(0);
    const listed = [...stdout.matchAll(/^ {2}(\w+) \[/gm)].map(([, command]) => command);
    expect(listed).toEqual(['create', 'update', 'list', 'usage', 'webhooks', 'revoke', 'rotate', 'help']);
  }, 30_000);
});
