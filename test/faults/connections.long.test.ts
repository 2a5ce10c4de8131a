import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { within } from '../kit/deadline.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { endServer, printedKey, type ServerProcess, startServer } from '../kit/process.ts';
import { exchangeRaw, openRaw } from '../kit/raw.ts';

/** The largest file of the pages. */
const SCRIPT = readdirSync('dist/pages/explorer').find((name) => /^scalar-.*\.js$/.test(name))!;

/** What clients without a key do to the connections of the built program. */
describe.runIf(process.platform === 'linux')('connections of strangers', () => {
  const home = temporaryFolder();
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer({ DATA_FILE: join(home, 'petstore.db') }, { limits: '-Sn 256' });
  });
  afterAll(() => endServer(server));

  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
  const megabytes = () =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))![1]) / 1024;
  const isLive = async () => {
    const answer = fetch(`${server.url}/health/live`);
    expect((await within(2_000, answer)).status).toBe(200);
  };

  it('leave no descriptors and no memory behind where they cut off downloads', async () => {
    const abort = async () => {
      const socket = await openRaw(server.url);
      socket.write(`GET /explorer/${SCRIPT} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await new Promise((resolve) => socket.once('data', resolve));
      socket.resetAndDestroy();
    };
    const abortMany = async (count: number) => {
      for (let n = 0; n < count; n += 20) await Promise.all(Array.from({ length: 20 }, abort));
    };
    // What is otherwise loaded a second after the start.
    const headers = { 'x-api-key': printedKey(server), 'content-type': 'application/json' };
    for (const [path, body] of [
      ['/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
      ['/graphql', '{"query":"{ __typename }"}'],
    ] as const)
      expect((await fetch(server.url + path, { method: 'POST', headers, body })).status).toBe(200);
    await abortMany(200);
    await isLive();
    const before = { descriptors: descriptors(), megabytes: megabytes() };
    await abortMany(1_000);
    await expect.poll(descriptors).toBeLessThanOrEqual(before.descriptors + 5);
    expect(megabytes()).toBeLessThan(before.megabytes + 40);
    await isLive();
  });

  it('are closed where more than 16 requests wait, and hold one answer where nobody reads', async () => {
    await isLive();
    const before = megabytes();
    const request = `GET /explorer/${SCRIPT} HTTP/1.1\r\nHost: x\r\n\r\n`;
    const unread = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = (await openRaw(server.url)).pause();
        socket.write(request.repeat(16));
        return socket;
      }),
    );
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => exchangeRaw(server.url, request.repeat(1_000))),
    );
    for (const answer of answers) expect(answer.length).toBeLessThan(4_000_000);
    await isLive();
    expect(megabytes()).toBeLessThan(before + 100);
    for (const socket of unread) socket.destroy();
    await isLive();
  });
});
