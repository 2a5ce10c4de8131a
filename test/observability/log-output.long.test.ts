import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { within } from '../kit/deadline.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { endServer, type ServerProcess, type StartOptions, startServer } from '../kit/process.ts';
import { exchangeRaw } from '../kit/raw.ts';

/** Longer than a server with a working log takes to exit, shorter than the grace period of a supervisor. */
const EXIT_TIMEOUT = 8_000;
/** The path is in the log line of the request. */
const LONG_PATH = `/${'x'.repeat(300)}`;

const home = temporaryFolder();
let server: ServerProcess;

afterEach(() => endServer(server));

const start = async (options: StartOptions) => {
  server = await startServer({ DATA_FILE: join(home, 'petstore.db') }, options);
};

async function get(path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(server.url + path);
  return { status: response.status, text: await response.text() };
}

/** Produces log lines: one for each request, which is refused for lack of a key. At most 16 wait on a connection. */
async function produceLines(count: number): Promise<void> {
  const request = `GET ${LONG_PATH} HTTP/1.1\r\nHost: x\r\n`;
  for (let left = count; left > 0; left -= 16) {
    const sent = Math.min(left, 16);
    const requests = `${request}\r\n`.repeat(sent - 1);
    const responses = await exchangeRaw(server.url, `${requests}${request}Connection: close\r\n\r\n`);
    expect(responses.match(/HTTP\/1\.1 4(?:01|29) /g)).toHaveLength(sent);
  }
}

const dropped = async (): Promise<number> =>
  Number(/^petstore_log_lines_dropped_total (\d+)$/m.exec((await get('/metrics')).text)?.[1]);

async function expectCleanExit(): Promise<void> {
  server.child.kill('SIGTERM');
  expect(await within(EXIT_TIMEOUT, server.exited)).toBe(0);
}

// Pipes and full disks behave as on Linux.
describe.runIf(process.platform === 'linux')('the log when it cannot be written', () => {
  it('drops and counts lines to a pipe whose reader is gone, without affecting requests or the exit', async () => {
    await start({ output: 'closed' });
    await produceLines(200);
    await expect.poll(dropped).toBeGreaterThanOrEqual(200);
    expect((await get('/health/ready')).status).toBe(200);
    await expectCleanExit();
  });

  it('drops and counts lines to a pipe that nobody reads, which is in time for a SIGTERM', async () => {
    await start({ output: 'unread' });
    await produceLines(5_000);
    expect(await dropped()).toBeGreaterThan(0);
    expect((await get('/health/ready')).status).toBe(200);
    let text = '';
    server.child.stdout!.on('data', (chunk) => {
      text += chunk;
    });
    const logged = () => text.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
    // Every request was logged or counted as dropped, except those that waited for the start.
    const accounted = async () => logged().length + (await dropped());
    await expect.poll(accounted, { timeout: 10_000 }).toBeGreaterThan(5_000);
    for (const line of logged()) JSON.parse(line);
    server.child.stdout!.pause();
    await produceLines(2_500);
    await expectCleanExit();
  });

  it('drops and counts lines on a full disk, and goes on when it has room again', async () => {
    const file = join(home, 'log');
    // The existing content counts, so that only the log reaches the limit.
    writeFileSync(file, `${'x'.repeat(1_500_000)}\n`);
    await start({ output: { file }, limits: '-Sf 1500' });
    await produceLines(2_500);
    expect(await dropped()).toBeGreaterThan(0);
    expect((await get('/health/ready')).status).toBe(200);
    execFileSync('prlimit', ['--pid', String(server.child.pid), '--fsize=unlimited']);
    const lines = () => readFileSync(file, 'utf8').trimEnd().split('\n').slice(1);
    await expect
      .poll(() => get('/last').then(() => lines().at(-1)), { timeout: 10_000 })
      .toContain('"/last"');
    // At most the line that reached the limit is cut off.
    const torn = lines().filter((line) => line.startsWith('{') && !line.endsWith('}'));
    expect(torn.length).toBeLessThanOrEqual(1);
    await expectCleanExit();
  });

  it('is in time for a SIGTERM on a device that is full', async () => {
    await start({ output: { file: '/dev/full' } });
    await produceLines(20);
    expect((await get('/health/ready')).status).toBe(200);
    await expectCleanExit();
  });
});
