import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cases } from '../kit/cases.ts';
import { within } from '../kit/deadline.ts';
import { temporaryFolder } from '../kit/folder.ts';
import {
  createUnlimitedKey,
  endServer,
  EXIT_TIMEOUT,
  get,
  limit,
  printedKey,
  runKeys,
  type ServerProcess,
  startServer,
} from '../kit/process.ts';

const settings = { DATA_FILE: join(temporaryFolder(), 'petstore.db') };
let server: ServerProcess;
const start = async () => {
  server = await startServer(settings);
};
beforeAll(start, 60_000);
afterAll(() => endServer(server));

describe('a server', () => {
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
  });

  /** Creates an Enterprise key, which has no burst guard either. */
  const create = (key: string, path: string, body: object) =>
    fetch(server.url + path, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it.runIf(process.platform === 'linux')(
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
      await endServer(server);
      await start();
      // Each kill may cost as much. Fewer refusals than begin a ban.
      expect(await passing(15, 5)).toBeLessThanOrEqual(6);
    }
  });

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
