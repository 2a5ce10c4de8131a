import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { runKeys, startCommand, useServer } from '../kit/process.ts';

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

// They mostly wait for what the command changed to take effect.
describe.concurrent.each(stores)('the keys command beside a server on %s', (_name, settings) => {
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
          ...{ name: 'test', plan: 'free', perMinute: 60, perDay: 1000 },
          usedToday: 2,
        }),
      5_000,
    );
    expect((await keys('list')).stdout).not.toContain(key);

    const { stdout } = await keys('list');
    const lines = stdout.split('\n');
    const row = lines.find((line) => line.startsWith(id))!;
    // Each cell starts where its column does.
    const columns = [
      ...['PLAN', 'USED TODAY', 'PER MINUTE', 'CREATED', 'LAST USED', 'EXPIRES', 'SECRET'],
      ...['RESTRICTED TO', 'NAME'],
    ].map((name) => lines[0]!.indexOf(name));
    const cells = columns.map((start, i) => row.slice(start, columns[i + 1]).trim());
    expect(cells).toEqual([
      'free',
      '2 of 1000',
      '60',
      expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/),
      expect.stringMatching(/^(\d{4}-\d\d-\d\dT[\d:]{8}Z)?$/),
      '',
      expect.stringContaining(`${key.slice(0, 15)}… until `),
      '',
      'test',
    ]);
    const [, expiry] = / until (\S+)/.exec(row)!;
    expect(Math.abs(Date.parse(expiry!) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    // The new secret has its own line.
    expect(lines[lines.indexOf(row) + 1]!.trim()).toBe(`${rotated.key.slice(0, 15)}…`);

    const revokedAt = Date.now();
    expect((await keys('revoke', id)).code).toBe(0);
    while ((await status(rotated.key)) !== 401) {
      expect(Date.now() - revokedAt).toBeLessThan(8_000);
      await sleep(100);
    }
    expect((await keys('rotate', id)).code).toBe(2);
  }, 60_000);

  it('changes what a key may do, within 5 seconds, and clears it again', async () => {
    const { id, key } = await create(
      ...['--plan', 'pro', '--scope', 'orders:write,categories:read', '--expires', '90d'],
      ...['--allow', '127.0.0.0/8,::1'],
    );
    const row = async () =>
      JSON.parse((await keys('list', '--json')).stdout).find((each: { id: string }) => each.id === id);
    const created = await row();
    expect(created).toMatchObject({
      ...{ name: 'test', plan: 'pro', scopes: ['orders:write', 'categories:read'] },
      allow: ['127.0.0.0/8', '::1'],
    });
    expect(Math.abs(Date.parse(created.expiresAt) - Date.now() - 90 * 86_400_000)).toBeLessThan(60_000);
    expect(await status(key)).toBe(403);
    const change = async (wanted: number, ...options: string[]) => {
      const changedAt = Date.now();
      expect((await keys('update', id, ...options)).stderr).toBe('');
      while ((await status(key)) !== wanted) {
        expect(Date.now() - changedAt).toBeLessThan(8_000);
        await sleep(100);
      }
    };
    await change(200, '--scope', 'pets:read');
    await change(403, '--allow', '192.0.2.0/24');
    const { key: rotated } = JSON.parse((await keys('rotate', id, '--json')).stdout);
    expect(await status(rotated)).toBe(403);
    await change(200, '--allow', 'any', '--scope', 'any', '--name', 'Neu', '--expires', 'never');
    const { secrets: _, createdAt: __, prefixes: ___, ...rest } = await row();
    expect(rest).toMatchObject({ name: 'Neu', plan: 'pro', perMinute: 300, perDay: 10_000 });
    for (const cleared of ['scopes', 'allow', 'expiresAt']) expect(rest).not.toHaveProperty(cleared);
    await change(401, '--expires', '1s');
  }, 60_000);

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

  it('creates Enterprise keys with their own limits', async () => {
    const { key } = await create('--plan', 'enterprise', '--per-minute', '7', '--per-day', '9');
    const reply = await fetch(`${server.url}/pets`, { headers: { 'x-api-key': key } });
    expect(reply.headers.get('ratelimit-policy')).toBe('"minute";q=7;w=60, "day";q=9;w=86400');
  }, 30_000);
});

const PROPERTIES = '--name --plan --per-minute --per-day --scope --expires --allow --documents'.split(' ');
const KEY_USAGE =
  '[--per-minute N --per-day N] [--scope S,…] [--expires 90d|12h|2027-01-31|never] [--allow CIDR,…] [--documents NAME|report:NAME|any] [--json]';
const MANY_NETWORKS = Array.from({ length: 21 }, (_, i) => `10.0.${i}.0/24`).join();

describe('the keys command', () => {
  it('exits with 2 and one line of explanation for what it cannot carry out', async () => {
    const refused: [call: string, message: RegExp][] = [
      ['create --plan free', /^--name must have 1 to 200 characters\./],
      ['create --name a\nb --plan free', /^--name must not contain control characters\./],
      ['create --name x --plan gold', /^--plan must be one of free, pro, business, enterprise\./],
      ['create --name x --plan enterprise', /--per-minute/],
      [`create --name ${'😀'.repeat(201)} --plan pro`, /^--name must have 1 to 200 characters\./],
      [
        'create --name= --plan x --scope pets:read,x --expires x --allow 1.2/3 --documents a/b',
        /^--name .*--plan .*--expires .*--scope .*not "x"\. --allow .*--documents /,
      ],
      ['create --name x --plan pro --expires 2020-01-01', /^--expires must be in the future\./],
      ['create --name x --plan pro --expires 0', /^--expires must be in the future\./],
      ['create --name x --plan pro --expires 2027-02-30', /^--expires must be a duration/],
      ['create --name x --plan pro --scope events:write', /not "events:write"\./],
      ['create --name x --plan pro --scope pets:read --scope x', /not "x"\./],
      [`create --name x --plan pro --allow ${MANY_NETWORKS}`, /^--allow must have at most 20 /],
      ['update key_none --name x', /^There is no active key key_none\.$/],
      ['usage key_none', /^There is no key key_none\.$/],
      ['usage key_none --days 93', /^--days must be an integer from 1 to 92\./],
      ['update key_none', /^update needs an option that says what to change\./],
      ['update key_none --per-day 5', /^--per-minute and --per-day require --plan enterprise\./],
      ['create --name x --plan free --per-day 5', /enterprise/],
      ['create --name x --plan enterprise --per-minute 0 --per-day 5', /from 1 to/],
      ['create --name x --plan free --grace 1h', /^create does not accept --grace\./],
      ['create x', /^create does not accept the argument x\./],
      ['create --name', /^Option '--name <value>' argument missing\./],
      ['revoke', /^revoke needs ID\. Try: npm run --silent keys -- revoke --help$/],
      ['revoke key_none', /^There is no active key key_none\.$/],
      ['rotate key_none --grace soon', /^--grace must be/],
      ['frobnicate', /^Unknown command frobnicate\./],
      ['list --colour', /^Unknown option '--colour'\./],
      ['list --plan free', /^list does not accept --plan\./],
      ['--json', /^--json needs a command\./],
    ];
    for (const [call, message] of refused) {
      const { code, stderr, stdout } = await runKeys(stores[0]![1], ...call.split(' '));
      expect({ code, stdout }, call).toEqual({ code: 2, stdout: '' });
      expect(stderr.trimEnd(), call).toMatch(message);
      expect(stderr.match(/\n/g), call).toHaveLength(1);
    }
  });

  it.each([['list'], ['revoke', 'key_none'], ['rotate', 'key_none'], ['update', 'key_none', '--name', 'x']])(
    '%s exits with 2 and creates no data file if there is none',
    async (...args) => {
      const file = join(home, 'misspelt', 'petstore.db');
      const { code, stderr, stdout } = await runKeys({ DATA_FILE: file }, ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toBe(`The data file ${file} does not exist. Is DATA_FILE set as for the server?\n`);
      expect(existsSync(dirname(file))).toBe(false);
    },
    30_000,
  );

  it('creates a key before the first start of the server', async () => {
    const settings = { DATA_FILE: join(home, 'data', 'petstore.db') };
    const create = ['create', '--name', 'first', '--plan', 'pro', '--json'];
    const { stdout } = await startCommand('keys', settings, ...create);
    const [listed] = JSON.parse((await runKeys(settings, 'list', '--json')).stdout);
    expect(listed).toMatchObject({ id: JSON.parse(stdout).id, name: 'first', plan: 'pro' });
    expect((await runKeys(settings, 'revoke', 'key_none')).code).toBe(2);
  }, 30_000);

  it('lists its commands without arguments', async () => {
    const { code, stdout } = await runKeys({});
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: npm run --silent keys -- COMMAND\n/);
    const listed = [...stdout.matchAll(/^ {2}(\w+) /gm)].map(([, command]) => command);
    expect(listed).toEqual(['create', 'update', 'list', 'usage', 'revoke', 'rotate']);
  }, 30_000);

  it.each([
    [
      'create',
      `--name NAME --plan free|pro|business|enterprise ${KEY_USAGE}`,
      'Creates a key and prints it.',
      PROPERTIES,
    ],
    [
      'update',
      `ID [--name NAME] [--plan free|pro|business|enterprise] ${KEY_USAGE}`,
      'Changes a key, within 5 seconds on every instance.',
      PROPERTIES,
    ],
    ['list', '[--json]', 'Lists all keys with their usage today and what they may do.', []],
    ['usage', 'ID [--days 30] [--json]', 'Shows what a key did, by day and operation.', ['--days']],
    ['revoke', 'ID [--json]', 'Revokes a key permanently, within 5 seconds on every instance.', []],
    ['rotate', 'ID [--grace 24h] [--json]', 'Gives a key a new secret and prints it.', ['--grace']],
  ])(
    'explains %s and its options with --help and -h',
    async (command, usage, purpose, options) => {
      const { code, stdout } = await runKeys({}, command, '--help');
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: npm run --silent keys -- ${command} ${usage}\n\n${purpose}`);
      expect([...stdout.matchAll(/^ {2}(--[\w-]+) +\S/gm)].map(([, option]) => option)).toEqual(options);
      expect(await runKeys({}, command, '-h')).toEqual({ code, stdout, stderr: '' });
    },
    30_000,
  );
});
