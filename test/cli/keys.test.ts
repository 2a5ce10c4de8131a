import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { usedToday } from '../../src/cli/key-commands.ts';
import { DAY } from '../../src/foundation/instant.ts';
import { initialUsage } from '../../src/store/limiter-algorithm.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { freePort } from '../kit/mongo.ts';
import { runKeys } from '../kit/process.ts';
import { testKeysBesideServer } from './keys-beside-server.ts';

const home = temporaryFolder();
const settings = { DATA_FILE: join(home, 'petstore.db') };

testKeysBesideServer('the embedded store', settings);

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
      const { code, stderr, stdout } = await runKeys(settings, ...call.split(' '));
      expect({ code, stdout }, call).toEqual({ code: 2, stdout: '' });
      expect(stderr, call).toMatch(message);
    }
    for (const call of ['update key_none --name x', 'rotate key_none', 'revoke key_none', 'usage key_none'])
      expect(await runKeys(settings, ...call.split(' ')), call).toEqual({
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
  });

  it('lists its commands, and fits 80 columns', async () => {
    for (const args of [[], ['--help'], ['create', '--help'], ['list']]) {
      const { stdout, stderr } = await runKeys(settings, ...args);
      for (const line of `${stdout}${stderr}`.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
    }
    const { code, stdout } = await runKeys({}, '--help');
    expect(code).toBe(0);
    const listed = [...stdout.matchAll(/^ {2}(\w+) \[/gm)].map(([, command]) => command);
    expect(listed).toEqual(['create', 'update', 'list', 'usage', 'webhooks', 'revoke', 'rotate', 'help']);
  });
});
