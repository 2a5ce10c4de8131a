import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dropDatabase, mongoUri } from './kit/mongo.ts';
import { runKeys, type ServerProcess, startServer } from './kit/process.ts';

/** Longer than a server with a working log takes to exit, shorter than the grace period of a supervisor. */
const EXIT_TIMEOUT = 8_000;

/** The child processes of a process, as listed by Linux. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

describe.runIf(process.env.TEST_MONGODB_URI && process.platform === 'linux')('WORKERS=2', () => {
  const database = `workers-${randomUUID().slice(0, 8)}`;
  const store = () => ({ MONGODB_URI: mongoUri(database) });
  let server: ServerProcess;
  let key: string;

  const newKey = async (...plan: string[]): Promise<string> =>
    JSON.parse((await runKeys(store(), 'create', '--name', 'test', '--plan', ...plan, '--json')).stdout).key;
  /** Uses a new connection, so that any worker may serve it. */
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(server.url + path, { headers: { 'x-api-key': key, connection: 'close', ...headers } });
  /** The workers that have served requests so far, according to the log. */
  const workers = () =>
    new Set([...server.output().matchAll(/"worker":(\d+),"requestId"/g)].map(([, id]) => id));

  beforeAll(async () => {
    server = await startServer({ ...store(), WORKERS: '2', SAMPLE_DATA: 'on' });
    key = await newKey('enterprise', '--per-minute', '100000', '--per-day', '100000');
  }, 60_000);
  afterAll(async () => {
    server?.child.kill('SIGKILL');
    await server?.exited;
    await dropDatabase(database);
  });

  it('prints its banner once and fills an empty database once', async () => {
    expect(server.output().match(/Petstore gateway on/g)).toHaveLength(1);
    expect(await (await get('/categories')).json()).toHaveLength(4);
  });

  it('serves from both workers, on one exact budget', async () => {
    const free = await newKey('free');
    const replies = await Promise.all(
      Array.from({ length: 80 }, () => get('/pets?limit=1', { 'x-api-key': free })),
    );
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(60);
    await expect.poll(() => workers().size).toBe(2);
  });

  it('reports the metrics of both workers together, whichever responds', async () => {
    const count = async () => {
      const text = await (await get('/metrics')).text();
      return Number(
        /petstore_requests_total\{transport="rest",operation="getPet",status="200"\} (\d+)/.exec(text)?.[1],
      );
    };
    for (let i = 0; i < 10; i++) expect((await get('/pets/1')).status).toBe(200);
    for (let i = 0; i < 4; i++) expect(await count()).toBe(10);
  });

  it('replaces a killed worker while the other keeps serving', { timeout: 60_000 }, async () => {
    const lines = [...server.output().matchAll(/"worker":(\d+)/g)].map(([, id]) => Number(id));
    const before = Math.max(...lines);
    const children = childrenOf(server.child.pid!);
    expect(children).toHaveLength(2);
    process.kill(children[0]!, 'SIGKILL');
    // The other worker keeps serving.
    for (let i = 0; i < 5; i++) expect((await get('/pets')).status).toBe(200);
    await expect
      .poll(
        async () => {
          await get('/pets');
          return Math.max(...[...workers()].map(Number));
        },
        { timeout: 20_000 },
      )
      .toBeGreaterThan(before);
    expect(server.output()).toContain('exited and will be replaced');
  });

  it('logs whole lines from both workers, and stops them on SIGTERM, even if the log is not read', {
    timeout: 60_000,
  }, async () => {
    const log = server.child.stdout!;
    /** Requests that are refused for lack of a key. Their path is in their log line. */
    const produceLines = async (count: number, path: string) => {
      for (let sent = 0; sent < count; sent += 50) {
        const replies = Array.from({ length: 50 }, () => get(path, { 'x-api-key': '' }));
        for (const { status } of await Promise.all(replies)) expect([401, 429]).toContain(status);
      }
    };
    log.pause();
    const before = server.output().length;
    await produceLines(500, '/pets');
    expect((await get('/health/ready')).status).toBe(200);
    log.resume();
    const lines = () =>
      server
        .output()
        .slice(before)
        .split('\n')
        .filter((line) => line.includes('"path":"/pets"'));
    await expect.poll(() => lines().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(500);
    expect(new Set(lines().map((line) => JSON.parse(line).worker)).size).toBe(2);

    log.pause();
    await produceLines(300, `/${'x'.repeat(15_000)}`);
    const children = childrenOf(server.child.pid!);
    expect(children).toHaveLength(2);
    const began = performance.now();
    server.child.kill('SIGTERM');
    expect(await server.exited).toBe(0);
    expect(performance.now() - began).toBeLessThan(EXIT_TIMEOUT);
    for (const child of children) expect(() => process.kill(child, 0)).toThrow('ESRCH');
  });

  it('stops its workers if the primary process is killed', { timeout: 60_000 }, async () => {
    server = await startServer({ ...store(), WORKERS: '2' });
    const children = childrenOf(server.child.pid!);
    server.child.kill('SIGKILL');
    for (const child of children) {
      await expect
        .poll(
          () => {
            try {
              return process.kill(child, 0);
            } catch {
              return false;
            }
          },
          { timeout: 20_000 },
        )
        .toBe(false);
    }
  });

  it('exits with the reason if it cannot start', { timeout: 60_000 }, async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const PORT = String((taken.address() as AddressInfo).port);
    await expect(startServer({ ...store(), WORKERS: '2', PORT })).rejects.toThrow(
      /EADDRINUSE[\s\S]*could not start/,
    );
    taken.close();
  });
});
