import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { within } from './kit/deadline.ts';
import { temporaryFolder } from './kit/folder.ts';
import {
  endServer,
  EXIT_TIMEOUT,
  get,
  limit,
  printedKey,
  runKeys,
  type ServerProcess,
  startCommand,
  startServer,
} from './kit/process.ts';

const home = temporaryFolder();
const onLinux = process.platform === 'linux';
const newStore = () => ({ DATA_FILE: join(mkdtempSync(join(home, 'store-')), 'data', 'petstore.db') });

// One server after the other on one data file: a start takes longer than most of what the tests do.
describe('a server', () => {
  const settings = newStore();
  let server: ServerProcess;
  const start = async () => {
    server = await startServer(settings);
  };
  beforeAll(start, 60_000);
  afterAll(() => endServer(server));

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
  });

  it.runIf(onLinux)(
    'out of file descriptors serves an open connection, and new ones and /docs as soon as files can be opened',
    async () => {
      const { port } = new URL(server.url);
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const statusOf = (path: string, body?: string) =>
        new Promise<number>((resolve, reject) => {
          const headers = { 'x-api-key': printedKey(server), 'content-type': 'application/json' };
          const sent = request(
            server.url + path,
            { agent, headers, method: body ? 'POST' : 'GET' },
            (response) => {
              response.resume();
              response.on('end', () => resolve(response.statusCode!));
            },
          );
          sent.on('error', reject).end(body);
        });
      // Node.js 20 would remember that the import failed.
      const ping = process.version.startsWith('v20') ? undefined : '{"jsonrpc":"2.0","id":1,"method":"ping"}';
      expect(await statusOf('/health/live')).toBe(200);
      const before = readdirSync(`/proc/${server.child.pid}/fd`).length;
      limit(server, `--nofile=${before + 20}:`);
      const others = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'));
      for (const other of others) other.on('error', () => {});
      await expect
        .poll(() => readdirSync(`/proc/${server.child.pid}/fd`).length)
        .toBeGreaterThanOrEqual(before + 20);
      // No module can be loaded now.
      expect([await statusOf('/graphql?query=%7B__typename%7D'), await statusOf('/pets')]).toEqual([
        200, 200,
      ]);
      expect(await statusOf('/mcp', ping)).toBe(ping ? 500 : 405);
      for (const other of others) other.destroy();
      await expect
        .poll(async () => [await statusOf('/docs'), await statusOf('/mcp', ping)])
        .toEqual([200, ping ? 200 : 405]);
      expect((await get(server, '/pets')).status).toBe(200);
      limit(server, '--nofile=4096:');
      agent.destroy();
    },
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
  });

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
  });

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
  });
});

describe('startup', () => {
  it('prints no key in production, and adds sample data to a new store only if asked, even if it has a key', async () => {
    const settings = { ...newStore(), NODE_ENV: 'production' };
    const first = await startServer({ ...settings, SAMPLE_DATA: 'off' });
    let second: ServerProcess | undefined;
    try {
      expect(first.output()).not.toContain('petstore_');
      expect(first.output()).toContain('npx petstore keys create --name NAME --plan free\n');
      const made = await runKeys(settings, 'create', '--name', 'first', '--plan', 'free', '--json');
      const { key } = JSON.parse(made.stdout);
      expect(await (await get(first, '/categories', key)).json()).toEqual([]);
      await endServer(first);
      const other = newStore();
      const again = await runKeys(other, 'create', '--name', 'first', '--plan', 'free', '--json');
      second = await startServer({ ...settings, ...other, SAMPLE_DATA: 'on' });
      expect(second.output()).not.toContain('petstore_');
      const categories = await get(second, '/categories', JSON.parse(again.stdout).key);
      expect(await categories.json()).toHaveLength(4);
    } finally {
      for (const server of [first, second]) {
        await endServer(server);
      }
    }
  });

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
