import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { within } from './kit/deadline.ts';
import { cases } from './kit/cases.ts';
import { temporaryFolder } from './kit/folder.ts';
import {
  createUnlimitedKey,
  printedKey,
  runKeys,
  type ServerProcess,
  startCommand,
  startServer,
} from './kit/process.ts';

/** Longer than a server needs to stop, in milliseconds. */
const EXIT_TIMEOUT = 10_000;
const home = temporaryFolder();
const onLinux = process.platform === 'linux';
const newStore = () => ({ DATA_FILE: join(mkdtempSync(join(home, 'store-')), 'data', 'petstore.db') });

const get = (server: ServerProcess, path: string, key = printedKey(server)) =>
  fetch(server.url + path, { headers: { 'x-api-key': key } });

/** Changes what a running process may do, as `ulimit` does for one that starts. */
const limit = ({ child }: ServerProcess, what: string) =>
  execFileSync('prlimit', ['--pid', String(child.pid), what]);

// One server after the other on one data file: a start takes longer than most of what the tests do.
describe('a server', () => {
  const settings = newStore();
  let server: ServerProcess;
  const start = async () => {
    server = await startServer(settings);
  };
  beforeAll(start, 60_000);
  afterAll(async () => {
    server?.child.kill('SIGKILL');
    await server?.exited;
  });

  it('prints its address, a key and a working curl command', async () => {
    const port = new URL(server.url).port;
    expect(server.output()).toContain(`Petstore gateway on http://localhost:${port}`);
    const [, key, path] = /curl -H 'X-API-Key: (\S+)' 'http:\/\/localhost:\d+(\S+)'/.exec(server.output())!;
    const reply = await get(server, path!, key);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toHaveLength(2);
    const links = [...server.output().matchAll(/http:\/\/localhost:\d+(\/\w*)#key=(\S+)/g)];
    expect(links.map(([, page]) => page)).toEqual(['/', '/graphql', '/docs', '/console']);
    for (const [, , inFragment] of links) expect(inFragment).toBe(key);
    expect(await (await get(server, '/metrics')).text()).toContain('nodejs_eventloop_lag_seconds');
  });

  it('keeps another from its port, which exits with 1 and a one-line explanation', async () => {
    const PORT = new URL(server.url).port;
    const failure = await startServer({ ...newStore(), PORT }).catch((error) => error);
    expect(failure.message).toBe(
      `The server ended with 1:\nThe server cannot listen on port ${PORT} of 127.0.0.1: another program is using it. Stop that program or set PORT to another port (EADDRINUSE).\n`,
    );
  }, 60_000);

  it('keeps another from its data file, which exits with 1', async () => {
    await expect(startServer(settings)).rejects.toThrow(/ended with 1[\s\S]*in use by another server/);
    expect((await get(server, '/pets')).status).toBe(200);
  }, 60_000);

  it.runIf(onLinux)(
    'out of file descriptors serves an open connection, and new ones and /docs as soon as files can be opened',
    async () => {
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
      const before = readdirSync(`/proc/${server.child.pid}/fd`).length;
      limit(server, `--nofile=${before + 20}:`);
      const others = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'));
      for (const other of others) other.on('error', () => {});
      await expect
        .poll(() => readdirSync(`/proc/${server.child.pid}/fd`).length)
        .toBeGreaterThanOrEqual(before + 20);
      // Modules can't be loaded now, so even rarely used ones must have been loaded at startup.
      expect(await statusOf('/graphql?query=%7B__typename%7D')).toBe(200);
      expect(await statusOf('/pets')).toBe(200);
      for (const other of others) other.destroy();
      await expect.poll(() => statusOf('/docs')).toBe(200);
      expect((await get(server, '/pets')).status).toBe(200);
      limit(server, '--nofile=4096:');
      agent.destroy();
    },
    60_000,
  );

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
    const stream = await get(server, '/events/stream');
    server.child.kill('SIGTERM');
    const exited = within(EXIT_TIMEOUT, server.exited);
    while (
      await fetch(`${server.url}/health/live`).then(
        () => true,
        () => false,
      )
    );
    open.end('"Lions"}');
    expect(await responded).toBe(201);
    // Without an error, clients of a stream reconnect.
    expect(await stream.text()).not.toContain('error');
    expect(await exited).toBe(0);
    agent.destroy();
  }, 60_000);

  it('keeps its data and its key across a restart', async () => {
    const key = printedKey(server);
    const file = `${settings.DATA_FILE}.key`;
    expect([readFileSync(file, 'utf8').trim(), statSync(file).mode & 0o777]).toEqual([key, 0o600]);
    await start();
    expect(printedKey(server)).toBe(key);
    // The sample data is not added again.
    const names = ['Dogs', 'Cats', 'Birds', 'Fish', 'Lions'].map((name) => ({ name }));
    expect(await (await get(server, '/categories')).json()).toMatchObject(names);
    expect(JSON.parse((await runKeys(settings, 'list', '--json')).stdout)).toHaveLength(1);
  }, 60_000);

  it('serves for DRAIN_DELAY seconds after SIGTERM, not ready and with a last response for each connection', async () => {
    const draining = await startServer({
      ...settings,
      DATA_FILE: `${settings.DATA_FILE}.drain`,
      DRAIN_DELAY: '2',
    });
    const headers = { 'x-api-key': printedKey(draining) };
    const ask = (path: string) => fetch(draining.url + path, { headers });
    expect((await ask('/health/ready')).status).toBe(200);
    const began = Date.now();
    draining.child.kill('SIGTERM');
    await expect.poll(async () => (await ask('/health/ready')).status).toBe(503);
    const ready = await ask('/health/ready');
    expect([ready.headers.get('connection'), (await ready.json()).code]).toEqual(['close', 'UNAVAILABLE']);
    expect((await ask('/health/live')).status).toBe(200);
    const served = await ask('/pets');
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close']);
    const lastServed = async (): Promise<number> => {
      for (let last = Date.now(); ; last = Date.now()) {
        const isServed = await ask('/pets').then(
          ({ status }) => status < 500,
          () => false,
        );
        if (!isServed) return last;
      }
    };
    expect((await lastServed()) - began).toBeGreaterThan(1_500);
    expect(await draining.exited).toBe(0);
  }, 60_000);

  it('drops no request on SIGTERM under load and exits with 0', async () => {
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
    server.child.kill('SIGTERM');
    const exited = within(EXIT_TIMEOUT, server.exited);
    // Connections are refused now, but every accepted request got a complete response.
    expect(new Set(await Promise.all(clients))).toEqual(new Set(['ECONNREFUSED']));
    expect(await exited).toBe(0);
    expect(Object.values(statuses).reduce((sum, count) => sum + count)).toBe(requests - clients.length);
    expect(Object.keys(statuses).filter((status) => !['200', '201', '429', '403'].includes(status))).toEqual(
      [],
    );
  }, 60_000);

  /** Creates an Enterprise key, which has no burst guard either. */
  const create = (key: string, path: string, body: object) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it.runIf(onLinux)(
    'refuses writes with 503 on a full disk, still serves reads, and recovers',
    async () => {
      await start();
      const key = await createUnlimitedKey(settings);
      const write = (name: string) => create(key, '/categories', { name, description: 'x'.repeat(2_000) });
      // Smaller than the write-ahead log becomes.
      limit(server, '--fsize=1500000:');
      const acknowledged: number[] = [];
      let refused: Response | undefined;
      for (let i = 0; i < 900 && !refused; i++) {
        const reply = await write(`Number ${i}`);
        if (reply.status === 201) acknowledged.push((await reply.json()).id);
        else refused = reply;
      }
      expect(acknowledged.length).toBeGreaterThan(0);
      expect(refused?.status).toBe(503);
      expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(await refused!.json()).toMatchObject({ code: 'UNAVAILABLE', status: 503 });
      // There may be room for a small write, which does not make it ready.
      await create(key, '/categories', { name: 'Small' });
      expect((await get(server, '/health/ready')).status).toBe(503);
      for (const id of acknowledged) expect((await get(server, `/categories/${id}`, key)).status).toBe(200);
      limit(server, '--fsize=unlimited:');
      expect((await write('Room')).status).toBe(201);
      expect((await get(server, '/health/ready')).status).toBe(200);
    },
    60_000,
  );

  it('loses no ban by SIGKILL right after it was told', async () => {
    const made = await runKeys(settings, 'create', '--name', 'test', '--plan', 'free', '--json');
    const { key } = JSON.parse(made.stdout);
    let status = 0;
    for (let i = 0; i < 300 && status !== 403; i++) ({ status } = await get(server, '/pets/1', key));
    server.child.kill('SIGKILL');
    expect(status).toBe(403);
    await server.exited;
    await start();
    const reply = await get(server, '/pets/1', key);
    expect([reply.status, (await reply.json()).code]).toEqual([403, 'API_KEY_BANNED']);
  });

  it('loses at most a tenth of the minute by each SIGKILL', async () => {
    const made = await runKeys(settings, 'create', '--name', 'test', '--plan', 'free', '--json');
    const { key } = JSON.parse(made.stdout);
    const passing = async (count: number, atOnce: number): Promise<number> => {
      let passed = 0;
      for (let sent = 0; sent < count; sent += atOnce) {
        const replies = await Promise.all(Array.from({ length: atOnce }, () => get(server, '/pets/1', key)));
        passed += replies.filter(({ status }) => status === 200).length;
      }
      return passed;
    };
    expect(await passing(60, 20)).toBe(60);
    for (let round = 0; round < cases(1, 3); round++) {
      server.child.kill('SIGKILL');
      await server.exited;
      await start();
      // Each kill may cost as much. Fewer refusals than begin a ban.
      expect(await passing(15, 5)).toBeLessThanOrEqual(6);
    }
  }, 60_000);

  it('loses no acknowledged write by SIGKILL, stores all fields of a mutation or none, and repeats no id', async () => {
    const key = await createUnlimitedKey(settings);
    const acknowledged = new Set<string>();
    const pairs = new Set<string>();
    const twice =
      'mutation ($name: String!) { a: createCategory(input: {name: $name}) { id } b: createCategory(input: {name: $name}) { id } }';
    for (let round = 0; round < Number(process.env.KILL_ROUNDS ?? 1); round++) {
      const before = acknowledged.size;
      let repeated = 0;
      const writers = Array.from({ length: 4 }, async (_, n) => {
        for (let i = 0; ; i++) {
          const name = `Pair ${round} ${n} ${i}`;
          const pair = await create(key, '/graphql', { query: twice, variables: { name } });
          if ((await pair.json()).data) pairs.add(name);
          const reply = await create(key, '/store/orders', {});
          if (reply.status !== 201) continue;
          const id = String((await reply.json()).id);
          if (acknowledged.has(id)) repeated++;
          acknowledged.add(id);
        }
      });
      // Kill at a different moment each time, after the first writes.
      await expect.poll(() => acknowledged.size, { timeout: 10_000, interval: 5 }).toBeGreaterThan(before);
      setTimeout(() => server.child.kill('SIGKILL'), (round * 137 + 50) % 500);
      await Promise.allSettled(writers);
      await server.exited;
      expect(repeated).toBe(0);
      await start();
    }
    const all = async (path: string) => {
      const rows: { id: number; name: string }[] = [];
      for (;;) {
        const page = await get(server, `${path}?limit=100&after=${rows.at(-1)?.id ?? 0}`, key);
        const read = (await page.json()) as typeof rows;
        rows.push(...read);
        if (read.length < 100) return rows;
      }
    };
    for (const { id } of await all('/store/orders')) acknowledged.delete(String(id));
    const odd = new Set<string>();
    for (const { name } of await all('/categories'))
      if (name.startsWith('Pair ') && !odd.delete(name)) {
        odd.add(name);
        pairs.delete(name);
      }
    expect([...odd, ...pairs]).toEqual([]);
    expect([...acknowledged]).toEqual([]);
  }, 240_000);
});

describe('startup', () => {
  it('prints no key in production, and adds sample data to a new store only if asked, even if it has a key', async () => {
    const settings = { ...newStore(), NODE_ENV: 'production' };
    const first = await startServer({ ...settings, SAMPLE_DATA: 'off' });
    let second: ServerProcess | undefined;
    try {
      expect(first.output()).not.toContain('petstore_');
      expect(first.output()).toContain('npm run --silent keys -- create --name NAME --plan free\n');
      const made = await runKeys(settings, 'create', '--name', 'first', '--plan', 'free', '--json');
      const { key } = JSON.parse(made.stdout);
      expect(await (await get(first, '/categories', key)).json()).toEqual([]);
      first.child.kill('SIGKILL');
      await first.exited;
      const other = newStore();
      const again = await runKeys(other, 'create', '--name', 'first', '--plan', 'free', '--json');
      second = await startServer({ ...settings, ...other, SAMPLE_DATA: 'on' });
      expect(second.output()).not.toContain('petstore_');
      const categories = await get(second, '/categories', JSON.parse(again.stdout).key);
      expect(await categories.json()).toHaveLength(4);
    } finally {
      for (const server of [first, second]) {
        server?.child.kill('SIGKILL');
        await server?.exited;
      }
    }
  }, 60_000);

  it('has --help and --port, and refuses other options', async () => {
    const { stdout } = await startCommand('serve', {}, '--help');
    expect(stdout).toContain('--port <port>');
    expect(await startCommand('serve', {}, '--prot', '1')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Did you mean --port?'),
    });
    expect(await startCommand('serve', {}, '--port', 'x')).toMatchObject({
      code: 1,
      stderr: 'Invalid configuration:\n  PORT must be an integer from 0 to 65535\n',
    });
  });
});

// Unwritable paths work as on Linux. Commands open the data file as the server does.
describe.runIf(onLinux)('the data file', () => {
  const notes = join(home, 'notes.txt');
  beforeAll(() => writeFileSync(notes, 'These are notes. '.repeat(100)));

  it.each([
    ['is not a database', notes, 'is not one of this program'],
    ['cannot be created', '/proc/petstore.db', 'cannot be opened: '],
    ['has a file as its parent folder', '/dev/null/petstore.db', 'cannot be opened: '],
    ['is a folder', home, 'cannot be opened: '],
  ])('makes a command exit with 1 and an explanation if it %s', async (_reason, DATA_FILE, explanation) => {
    const { code, stderr } = await runKeys({ DATA_FILE }, 'create', '--name', 'x', '--plan', 'free');
    expect(code).toBe(1);
    expect(stderr).toContain(`The data file ${DATA_FILE} ${explanation}`);
    expect(stderr).toMatch(/\(DATA_FILE\)\n$/);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});
