import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { type ServerProcess, type StartOptions, startServer } from '../kit/process.ts';

/** Longer than a server whose log is in order takes to end, and shorter than what a supervisor grants. */
const IN_TIME = 8_000;
/** A line of the log has the path. */
const LONG_PATH = `/${'x'.repeat(15_000)}`;

let home: string;
let server: ServerProcess;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-log-'));
});
afterEach(async () => {
  server?.child.kill('SIGKILL');
  await server?.exited;
  rmSync(home, { recursive: true });
});

const start = async (options: StartOptions, settings: Record<string, string> = {}) => {
  server = await startServer({ DATA_FILE: join(home, 'petstore.db'), ...settings }, options);
};

/** On a connection of its own, so that any worker may get it. */
const get = (path: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const sent = request(server.url + path, { agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode!, text }));
    });
    sent.on('error', reject);
    sent.end();
  });

/** Requests that are refused for want of a key, each of which has a line in the log. */
async function makeLines(count: number, path: string): Promise<void> {
  for (let sent = 0; sent < count; sent += 50) {
    const replies = await Promise.all(Array.from({ length: 50 }, () => get(path)));
    for (const { status } of replies) expect([401, 429]).toContain(status);
  }
}

const dropped = async (): Promise<number> =>
  Number(/^petstore_log_lines_dropped_total (\d+)$/m.exec((await get('/metrics')).text)?.[1]);

async function expectOrderlyEnd(): Promise<void> {
  const began = performance.now();
  server.child.kill('SIGTERM');
  expect(await server.exited).toBe(0);
  expect(performance.now() - began).toBeLessThan(IN_TIME);
}

// Pipes and full disks as on Linux.
describe.runIf(process.platform === 'linux')('a log that cannot be written', { timeout: 60_000 }, () => {
  it.each<[what: string, output: StartOptions['output']]>([
    ['to a full device', { file: '/dev/full' }],
    ['to a pipe whose reader is gone', 'closed'],
  ])('%s loses its lines, which are counted, and nothing else', async (_what, output) => {
    await start({ output });
    await makeLines(100, '/pets');
    await expect.poll(dropped, { timeout: 5_000 }).toBeGreaterThan(100);
    expect((await get('/health/ready')).status).toBe(200);
    await expectOrderlyEnd();
  });

  it('to a pipe that nobody reads takes bounded memory, and goes on where somebody does', async () => {
    await start({ output: 'unread' });
    await makeLines(500, LONG_PATH);
    const lost = await dropped();
    expect(lost).toBeGreaterThan(0);
    expect((await get('/health/ready')).status).toBe(200);
    let text = '';
    server.child.stdout!.on('data', (chunk) => {
      text += chunk;
    });
    const lines = () => text.split('\n').filter((line) => line.startsWith('{"level"'));
    await expect.poll(() => text, { timeout: 10_000 }).toContain('log lines were dropped');
    const gap = lines()
      .map((line) => JSON.parse(line))
      .find(({ msg }) => msg === 'log lines were dropped');
    expect(gap).toMatchObject({ level: 40, lines: lost });
    // Each request has its line or is counted, that of the metrics and of readiness included.
    await expect.poll(() => lines().filter((line) => line.includes('"requestId"')).length).toBeGreaterThan(0);
    const logged = lines().filter((line) => line.includes(`"path":"${LONG_PATH}"`));
    expect(logged.length).toBeLessThan(500);
    expect(logged.length + lost).toBeGreaterThanOrEqual(500);
    await expectOrderlyEnd();
  });

  it('to a pipe that nobody reads holds up no end', async () => {
    await start({ output: 'unread' });
    await makeLines(50, LONG_PATH);
    await expectOrderlyEnd();
  });

  it('to a full disk goes on, on a line of its own, when there is room again', async () => {
    const file = join(home, 'log');
    // What was there before counts, so that the log alone is at the limit.
    writeFileSync(file, `${'x'.repeat(990_000)}\n`);
    await start({ output: { file }, limits: '-Sf 1000' });
    await makeLines(100, LONG_PATH);
    await expect.poll(dropped, { timeout: 5_000 }).toBeGreaterThan(0);
    execFileSync('prlimit', ['--pid', String(server.child.pid), '--fsize=unlimited']);
    const log = () => readFileSync(file, 'utf8');
    await expect.poll(log, { timeout: 10_000 }).toContain('log lines were dropped');
    const lines = log()
      .slice(log().indexOf('\n') + 1)
      .split('\n');
    const gap = lines.findIndex((line) => line.includes('log lines were dropped'));
    expect(() => JSON.parse(lines[gap]!)).not.toThrow();
    // One line was cut by the limit; all others are whole.
    const torn = lines.filter((line) => line.startsWith('{') && !line.endsWith('}'));
    expect(torn.length).toBeLessThanOrEqual(1);
    await expectOrderlyEnd();
  });
});

describe.runIf(process.env.TEST_MONGODB_URI && process.platform === 'linux')(
  'the log of WORKERS=2 in a pipe that nobody reads',
  { timeout: 90_000 },
  () => {
    const database = `log-${randomUUID().slice(0, 8)}`;
    afterEach(() => dropDatabase(database));

    it('holds up neither requests nor the end, and its lines are whole', async () => {
      await start({ output: 'unread' }, { MONGODB_URI: mongoUri(database), WORKERS: '2' });
      await makeLines(2_000, '/pets');
      expect((await get('/health/ready')).status).toBe(200);
      let text = '';
      server.child.stdout!.on('data', (chunk) => {
        text += chunk;
      });
      const lines = () => text.split('\n').filter((line) => line.includes('"requestId"'));
      await expect.poll(() => lines().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(2_000);
      const workers = new Set(lines().map((line) => JSON.parse(line).worker));
      expect(workers.size).toBe(2);
      await expectOrderlyEnd();
    });

    it('holds up no end while it is full', async () => {
      await start({ output: 'unread' }, { MONGODB_URI: mongoUri(database), WORKERS: '2' });
      await makeLines(300, LONG_PATH);
      await expectOrderlyEnd();
    });
  },
);
