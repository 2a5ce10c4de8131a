import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, get } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import openapiTypescript, { astToString } from 'openapi-typescript';
import { beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { addSampleData } from '../../src/sample.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { useProgram } from '../kit/program.ts';

/**
 * Generates clients from the OpenAPI description, compiles them with their own settings and runs them against the built program.
 * The Python generator comes from PyPI: OPENAPI_PYTHON_CLIENT is the path of its executable, next to its Python.
 */
const run = promisify(execFile);
const description = fileURLToPath(new URL('../../schema/openapi.json', import.meta.url));
const programs = fileURLToPath(new URL('programs', import.meta.url));
const generated = join(programs, 'generated');
const LARGEST = '9223372036854775807';
const MINUTE = 60_000;

interface Program {
  roundTrip(baseUrl: string, key: string): Promise<{ orders: Record<string, unknown>[]; refusals: string[] }>;
}

describe('TypeScript client generation', () => {
  const kit = useProgram();
  const program = (name: string): Promise<Program> =>
    import(pathToFileURL(join(programs, `${name}.ts`)).href);

  beforeAll(async () => {
    await mkdir(generated, { recursive: true });
    const address = pathToFileURL(description);
    await writeFile(join(generated, 'petstore.ts'), astToString(await openapiTypescript(address)));
  }, MINUTE);

  it(
    'produces clients that compile with their own settings',
    async () => {
      // The gateway's compiler, which takes an eighth of the time of the one that the generators need.
      const compiler = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
      const { stdout } = await run(process.execPath, [compiler, '-p', programs]).catch((error) => error);
      expect(stdout).toBe('');
    },
    MINUTE,
  );

  it('produces the client of docs/clients.md, which creates one pet for two calls', async () => {
    const { adopt } = await import(pathToFileURL(join(programs, 'rest-client.ts')).href);
    const { url, key, store } = kit.gateway;
    await addSampleData(store, api);
    const before = await store.table(Pet).count({});
    expect(await adopt(url, key)).toBe('Oscar is available');
    expect(await adopt(url, key)).toBe('Oscar is available');
    expect(await store.table(Pet).count({})).toBe(before + 1);
  });

  it('produces an openapi-fetch client that handles orders', async () => {
    const id = Number.MAX_SAFE_INTEGER;
    const { roundTrip } = await program('openapi-fetch');
    const { orders, refusals } = await roundTrip(kit.gateway.url, kit.gateway.key);
    const petId = expect.any(Number);
    expect(orders).toEqual([
      { id, petId, complete: false },
      { id, petId, complete: false },
      { id, petId, complete: false },
      { id, petId, quantity: 2, complete: false },
      { id, petId, complete: true },
    ]);
    expect(refusals).toEqual(['PRECONDITION_FAILED', 'NOT_FOUND', 'name: is required.']);
  });
});

const pythonGenerator = process.env.OPENAPI_PYTHON_CLIENT;
if (!pythonGenerator) {
  if (process.env.REQUIRE_PYTHON_CLIENT === '1') {
    throw new Error('REQUIRE_PYTHON_CLIENT=1, but OPENAPI_PYTHON_CLIENT names no generator.');
  }
  console.warn(
    '\n!!! NO PYTHON CLIENT IS TESTED: set OPENAPI_PYTHON_CLIENT to the openapi-python-client executable.',
  );
} else {
  describe('the generated Python client', () => {
    const kit = useProgram();
    const home = temporaryFolder();
    const client = join(home, 'petstore_client');

    beforeAll(async () => {
      const options = ['--path', description, '--meta', 'none', '--output-path', client];
      await run(pythonGenerator, ['generate', ...options]);
    }, MINUTE);

    it('has no more models than the description has schemas, only 2 of them for errors', () => {
      const models = readdirSync(join(client, 'models')).filter((name) => !name.startsWith('__'));
      expect(models.filter((name) => name.startsWith('error')).sort()).toEqual(['error.py', 'error_code.py']);
      const { schemas } = JSON.parse(readFileSync(description, 'utf8')).components;
      // The type of an event has one value, for which the generator makes an enum.
      const others = models.filter((model) => !model.endsWith('_event_type.py'));
      expect(others.length).toBeLessThanOrEqual(Object.keys(schemas).length);
    });

    it(
      'creates, reads, lists, replaces, updates and deletes orders with exact ids',
      async () => {
        const { url, key } = kit.gateway;
        const { stdout } = await run(
          join(dirname(pythonGenerator), 'python'),
          [join(programs, 'round_trip.py'), url, key],
          { env: { ...process.env, PYTHONPATH: home, PYTHONDONTWRITEBYTECODE: '1' } },
        );
        // Compared as text, because JavaScript numbers cannot represent the largest id.
        const order = `{"id": ${LARGEST}, "complete": false, "petId": 1}`;
        expect(stdout.trim()).toBe(
          [
            `{"orders": [${order}, ${order}, ${order}`,
            `{"id": ${LARGEST}, "complete": false, "petId": 1, "quantity": 2}`,
            `{"id": ${LARGEST}, "complete": true, "petId": 1}], "deleted": 204, "refusals": ["NOT_FOUND"]}`,
          ].join(', '),
        );
      },
      MINUTE,
    );
  });

  describe('the Python programs of docs/clients.md', () => {
    const kit = useProgram();
    const python = (name: string, url = kit.gateway.url, key = kit.gateway.key) =>
      spawn(join(dirname(pythonGenerator), 'python'), [join(programs, name), url, key]);
    const output = (child: ReturnType<typeof python>) => {
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
      return () => text.split('\n').filter((line) => line !== '');
    };

    it('read all pages of a list over GraphQL', { timeout: MINUTE }, async () => {
      const { id } = await kit.gateway.store.table(Category).insert({ name: 'Dogs' });
      const names = Array.from({ length: 120 }, (_, n) => `Pet ${n}`);
      for (const name of names)
        await kit.gateway.store.table(Pet).insert({ name, categoryId: id, status: 'available' });
      const child = python('graphql.py');
      const lines = output(child);
      await once(child, 'close');
      expect(lines()).toEqual(names);
    });

    it('follow changes past a lost connection, from the last event on', { timeout: MINUTE }, async () => {
      const add = (name: string) => kit.gateway.store.table(Category).insert({ name });
      const asked: (string | undefined)[] = [];
      const connections = new Set<Socket>();
      // A proxy that is away for the second attempt, refuses the third, and passes the others on.
      const proxy = createServer((request, response) => {
        asked.push(request.headers['last-event-id'] as string | undefined);
        const refusal = { 2: 502, 3: 429 }[asked.length];
        if (refusal !== undefined) {
          response.writeHead(refusal, { 'Retry-After': '1' }).end();
          return;
        }
        const { host: _, ...headers } = request.headers;
        get(kit.gateway.url + request.url, { headers }, (upstream) => {
          response.writeHead(upstream.statusCode!, upstream.headers);
          upstream.on('error', () => {}).pipe(response);
        });
      }).on('connection', (socket) => connections.add(socket));
      await once(proxy.listen(0, '127.0.0.1'), 'listening');
      const { port } = proxy.address() as AddressInfo;
      const child = python('follow.py', `http://127.0.0.1:${port}`);
      const lines = output(child);
      const until = (expected: string[]) => expect.poll(lines, { timeout: 30_000 }).toEqual(expected);
      try {
        await until(['connected']);
        await add('Second');
        await until(['connected', 'category.created Second']);
        for (const socket of connections) socket.destroy();
        await add('Third');
        await until(['connected', 'category.created Second', 'connected', 'category.created Third']);
        expect(asked).toEqual([undefined, expect.any(String), asked[1], asked[1]]);
      } finally {
        child.kill();
        proxy.close();
        proxy.closeAllConnections();
      }
    });

    it('stop following when the answer says that trying again changes nothing', async () => {
      const child = python('follow.py', kit.gateway.url, 'wrong');
      const lines = output(child);
      const [status] = await once(child, 'close');
      expect(status).toBe(1);
      expect(lines()).toEqual([expect.stringMatching(/^401 .*UNAUTHENTICATED/)]);
    });
  });
}
