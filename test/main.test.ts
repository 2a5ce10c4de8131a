import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { printedKey, runKeys, type ServerProcess, startServer } from './kit/process.ts';

let home: string;
let settings: Record<string, string>;
const running: ServerProcess[] = [];

const start = async (more: Record<string, string> = {}): Promise<ServerProcess> => {
  const server = await startServer({ ...settings, ...more });
  running.push(server);
  return server;
};
const get = (server: ServerProcess, path: string, key = printedKey(server)) =>
  fetch(server.url + path, { headers: { 'x-api-key': key } });

/** Creates an Enterprise key, which has no burst guard either. */
const unlimitedKey = async (): Promise<string> => {
  const plan = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
  return JSON.parse((await runKeys(settings, 'create', '--name', 'test', ...plan, '--json')).stdout).key;
};

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-main-'));
  settings = { DATA_FILE: join(home, 'data', 'petstore.db') };
});
afterEach(async () => {
  for (const { child, exited } of running.splice(0)) {
    child.kill('SIGKILL');
    await exited;
  }
  rmSync(home, { recursive: true });
});

describe('a server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-server-'));
  const own = { DATA_FILE: join(folder, 'data', 'petstore.db') };
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(own);
  }, 60_000);
  afterAll(async () => {
    server.child.kill('SIGKILL');
    await server.exited;
    rmSync(folder, { recursive: true });
  });

  it('prints its address, a key and a working curl command', async () => {
    const port = new URL(server.url).port;
    expect(server.output()).toContain(`Petstore gateway on http://localhost:${port}`);
    const [, key, path] = /curl -H 'X-API-Key: (\S+)' 'http:\/\/localhost:\d+(\S+)'/.exec(server.output())!;
    const reply = await get(server, path!, key);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toHaveLength(2);
    // The pages have the key too, since nobody else can open them.
    const page = await fetch(server.url, { headers: { accept: 'text/html' } });
    expect(await page.text()).toContain(`data-development-key="${key}"`);
  });

  it('keeps another from its port, which exits with 1 and a one-line explanation', async () => {
    const PORT = new URL(server.url).port;
    const failure = await start({ PORT }).catch((error) => error);
    expect(failure.message).toBe(
      `The server ended with 1:\nThe server cannot listen on port ${PORT} of 127.0.0.1: another program is using it. Stop that program or set PORT to another port (EADDRINUSE).\n`,
    );
  }, 60_000);

  it('keeps another from its data file, which exits with 1', async () => {
    await expect(start(own)).rejects.toThrow(/ended with 1[\s\S]*in use by another server/);
    expect((await get(server, '/pets')).status).toBe(200);
  }, 60_000);

  it('finishes requests in progress on SIGTERM and exits with 0', async () => {
    const agent = new Agent({ keepAlive: true });
    const key = printedKey(server);
    // In progress: its body is incomplete when the signal arrives.
    const open = request(`${server.url}/categories`, {
      method: 'POST',
      agent,
      headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-length': 16 },
    });
    const responded = new Promise<number>((resolve, reject) => {
      open.on('response', (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      open.on('error', reject);
    });
    open.write('{"name":');
    // Its response shows that the server has seen the open request. Its connection then stays idle.
    await new Promise<void>((resolve, reject) => {
      const other = request(`${server.url}/pets`, { agent, headers: { 'x-api-key': key } }, (response) => {
        response.resume();
        response.on('end', resolve);
      });
      other.on('error', reject);
      other.end();
    });
    const began = Date.now();
    server.child.kill('SIGTERM');
    while (
      await fetch(`${server.url}/health/live`).then(
        () => true,
        () => false,
      )
    )
      expect(Date.now() - began).toBeLessThan(5_000);
    open.end('"Lions"}');
    expect(await responded).toBe(201);
    expect(await server.exited).toBe(0);
    expect(Date.now() - began).toBeLessThan(10_000);
    agent.destroy();
  }, 60_000);

  it('keeps its data across a restart and prints a new key, while the previous one stays valid', async () => {
    const first = printedKey(server);
    server = await startServer(own);
    const second = printedKey(server);
    expect(second).not.toBe(first);
    // The sample data is not added again.
    const names = ['Dogs', 'Cats', 'Birds', 'Fish', 'Lions'].map((name) => ({ name }));
    for (const key of [first, second])
      expect(await (await get(server, '/categories', key)).json()).toMatchObject(names);
  }, 60_000);
});

describe('startup', () => {
  it('prints no key in production and adds no sample data with SAMPLE_DATA=off', async () => {
    const production = await start({ NODE_ENV: 'production', SAMPLE_DATA: 'off' });
    expect(production.output()).not.toContain('petstore_');
    expect(production.output()).toContain('npm run --silent keys -- create --name NAME --plan free\n');
    const made = await runKeys(settings, 'create', '--name', 'first', '--plan', 'free', '--json');
    expect(await (await get(production, '/categories', JSON.parse(made.stdout).key)).json()).toEqual([]);
    production.child.kill('SIGKILL');
    await production.exited;
    const withKey = await start({ NODE_ENV: 'production' });
    expect(withKey.output()).toContain('npm run --silent keys -- list\n');
  }, 60_000);

  it('adds sample data to a new store even if it already has a key', async () => {
    const made = await runKeys(settings, 'create', '--name', 'first', '--plan', 'free', '--json');
    const server = await start();
    expect(await (await get(server, '/categories', JSON.parse(made.stdout).key)).json()).toHaveLength(4);
  }, 60_000);

  it('exits with 1 on invalid settings and names all of them', async () => {
    const started = start({
      PORT: 'http',
      GRAPHIQL: 'yes',
      SUNSET_DATE: 'soon',
      MONGODB_URI: 'mongodb://localhost',
    });
    await expect(started).rejects.toThrow(
      /ended with 1[\s\S]*PORT[\s\S]*MONGODB_URI[\s\S]*GRAPHIQL[\s\S]*SUNSET_DATE/,
    );
  }, 60_000);
});

describe('SIGTERM under load', () => {
  it('drops no request and exits with 0', async () => {
    const server = await start();
    const key = printedKey(server);
    const statuses: Record<string, number> = {};
    let requests = 0;
    const call = (agent: Agent, method: string, path: string, body?: string) =>
      new Promise<void>((resolve, reject) => {
        const headers = { 'x-api-key': key, 'content-type': 'application/json' };
        const sent = request(server.url + path, { method, agent, headers }, (response) => {
          let text = '';
          response.on('data', (chunk) => {
            text += chunk;
          });
          response.on('error', reject);
          response.on('end', () => {
            JSON.parse(text);
            statuses[response.statusCode!] = (statuses[response.statusCode!] ?? 0) + 1;
            resolve();
          });
        });
        sent.on('error', reject);
        sent.end(body);
      });
    const clients = Array.from({ length: 16 }, async (_, i) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        for (;;) {
          requests++;
          if (i % 4 === 0) await call(agent, 'POST', '/categories', '{"name":"Lions"}');
          else if (i % 4 === 1) await call(agent, 'POST', '/graphql', '{"query":"{pets{nodes{id}}}"}');
          else await call(agent, 'GET', '/pets?limit=100');
        }
      } catch (error) {
        return (error as NodeJS.ErrnoException).code;
      } finally {
        agent.destroy();
      }
    });
    await expect.poll(() => requests, { timeout: 10_000 }).toBeGreaterThan(500);
    const began = Date.now();
    server.child.kill('SIGTERM');
    // Connections are refused now, but every accepted request got a complete response.
    expect(new Set(await Promise.all(clients))).toEqual(new Set(['ECONNREFUSED']));
    expect(await server.exited).toBe(0);
    expect(Date.now() - began).toBeLessThan(10_000);
    expect(Object.values(statuses).reduce((sum, count) => sum + count)).toBe(requests - clients.length);
    expect(Object.keys(statuses).filter((status) => !['200', '201', '429', '403'].includes(status))).toEqual(
      [],
    );
  }, 60_000);
});

describe.runIf(process.platform === 'linux')('a server out of file descriptors', () => {
  it('serves an open connection, and new ones and /docs as soon as files can be opened again', async () => {
    const server = await startServer(settings, { limits: '-Sn 70' });
    running.push(server);
    const { port } = new URL(server.url);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const statusOf = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { 'x-api-key': printedKey(server) };
        const sent = request(server.url + path, { agent, headers }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode!));
        });
        sent.on('error', reject);
        sent.end();
      });
    expect(await statusOf('/health/live')).toBe(200);
    const others = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'));
    for (const other of others) other.on('error', () => {});
    await expect.poll(() => readdirSync(`/proc/${server.child.pid}/fd`).length).toBeGreaterThanOrEqual(70);
    // Modules can't be loaded now, so even rarely used ones must have been loaded at startup.
    expect(await statusOf('/graphql?query=%7B__typename%7D')).toBe(200);
    expect(await statusOf('/pets')).toBe(200);
    for (const other of others) other.destroy();
    await expect.poll(() => statusOf('/docs')).toBe(200);
    expect((await get(server, '/pets')).status).toBe(200);
    agent.destroy();
  }, 60_000);
});

// Process limits and unwritable paths work as on Linux.
describe.runIf(process.platform === 'linux')('the data file', () => {
  it('makes the server exit with 1 and an explanation if it is not a database', async () => {
    const DATA_FILE = join(home, 'notes.txt');
    writeFileSync(DATA_FILE, 'These are notes. '.repeat(100));
    const failure: Error = await start({ DATA_FILE }).then(
      () => new Error('started'),
      (error) => error,
    );
    expect(failure.message).toContain('ended with 1');
    expect(failure.message).toContain(`The data file ${DATA_FILE} cannot be opened: `);
    expect(failure.message).not.toMatch(/^\s+at /m);
  }, 60_000);

  // Commands open it as the server does.
  it.each([
    ['cannot be created', '/proc/petstore.db'],
    ['has a file as its parent folder', '/dev/null/petstore.db'],
  ])('makes a command exit with 1 and an explanation if it %s', async (_reason, DATA_FILE) => {
    const { code, stderr } = await runKeys({ DATA_FILE }, 'create', '--name', 'x', '--plan', 'free');
    expect(code).toBe(1);
    expect(stderr).toContain(`The data file ${DATA_FILE} cannot be opened: `);
    expect(stderr).not.toMatch(/^\s+at /m);
  });

  it('refuses writes with 503 on a full disk, still serves reads, and recovers with its data', async () => {
    const server = await startServer(settings, { limits: '-Sf 1500' });
    running.push(server);
    const key = await unlimitedKey();
    const create = (name: string) =>
      fetch(`${server.url}/categories`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify({ name, description: 'x'.repeat(2_000) }),
      });
    const acknowledged: number[] = [];
    let refused: Response | undefined;
    for (let i = 0; i < 900 && !refused; i++) {
      const reply = await create(`Number ${i}`);
      if (reply.status === 201) acknowledged.push((await reply.json()).id);
      else refused = reply;
    }
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(refused?.status).toBe(503);
    expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await refused!.json()).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
    expect((await get(server, `/categories/${acknowledged.at(-1)}`, key)).status).toBe(200);

    execFileSync('prlimit', ['--pid', String(server.child.pid), '--fsize=unlimited']);
    expect((await create('Room')).status).toBe(201);
    server.child.kill('SIGKILL');
    await server.exited;
    const again = await start();
    for (const id of acknowledged) expect((await get(again, `/categories/${id}`, key)).status).toBe(200);
  }, 60_000);
});

describe('SIGKILL', () => {
  it('loses no acknowledged write and leads to no repeated id', async () => {
    const key = await unlimitedKey();
    let acknowledged: string[] = [];
    for (let round = 0; round < Number(process.env.KILL_ROUNDS ?? 2); round++) {
      const server = await start();
      const writers = Array.from({ length: 4 }, async () => {
        for (;;) {
          const reply = await fetch(`${server.url}/store/orders`, {
            method: 'POST',
            headers: { 'x-api-key': key, 'content-type': 'application/json' },
            body: '{}',
          });
          if (reply.status === 201) acknowledged.push(String((await reply.json()).id));
        }
      });
      // Kill at a different moment each time, after the first writes.
      const before = acknowledged.length;
      await expect.poll(() => acknowledged.length, { timeout: 10_000, interval: 5 }).toBeGreaterThan(before);
      setTimeout(() => server.child.kill('SIGKILL'), (round * 137) % 500);
      await Promise.allSettled(writers);
      await server.exited;
      expect(new Set(acknowledged).size).toBe(acknowledged.length);
    }
    const server = await start();
    const kept = new Set<string>();
    for (let after = '0'; ; ) {
      const page = (await (await get(server, `/store/orders?limit=100&after=${after}`, key)).json()) as {
        id: number;
      }[];
      for (const { id } of page) kept.add(String(id));
      if (page.length < 100) break;
      after = String(page.at(-1)!.id);
    }
    acknowledged = acknowledged.filter((id) => !kept.has(id));
    expect(acknowledged).toEqual([]);
  }, 240_000);
});
