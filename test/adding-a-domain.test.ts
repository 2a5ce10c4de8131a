import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LATEST } from '../src/store/sqlite/schema.ts';
import { dropDatabase, mongoUri } from './kit/mongo.ts';
import { printedKey, runKeys, type ServerProcess, startServer } from './kit/process.ts';
import { engines } from './kit/stores.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FIXTURE = join(ROOT, 'test/fixtures/supplier');
const guide = readFileSync(join(ROOT, 'docs/adding-a-domain.md'), 'utf8');

/** The files that the guide says to write, and its changes to existing lists. */
const newFiles = [...guide.matchAll(/^\| `(src\/[^`]+)` \|/gm)].map(([, file]) => file!).toSorted();
const lists = [...guide.matchAll(/```diff\n--- (\S+)\n([\s\S]*?)```/g)].map(([, file, diff]) => ({
  file: file!,
  hunks: diff!
    .split('@@\n')
    .slice(1)
    .map((hunk) => hunk.trimEnd().split('\n')),
}));

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();

/** Applies a hunk to a text, which must contain its old lines exactly once. */
function patched(text: string, hunk: readonly string[]): string {
  const side = (...signs: string[]) =>
    hunk
      .filter((line) => signs.includes(line[0]!))
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  const parts = text.split(side(' ', '-'));
  expect(parts, `the sources contain once:\n${side(' ', '-')}`).toHaveLength(2);
  return parts.join(side(' ', '+'));
}

/** Creates a key in MongoDB, where the server creates none on its own. */
async function newKey(settings: Record<string, string>): Promise<string> {
  const { stdout } = await runKeys(settings, 'create', '--name', 'test', '--plan', 'business', '--json');
  return JSON.parse(stdout).key;
}

/** A copy of the sources with the domain added as the guide says. */
let home: string;
/** What the compiler prints about that copy. */
let compilerOutput: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'petstore-supplier-'));
  for (const name of ['src', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'biome.json'])
    cpSync(join(ROOT, name), join(home, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'));
  for (const file of newFiles) {
    expect(existsSync(join(home, file)), file).toBe(false);
    cpSync(join(FIXTURE, file), join(home, file));
  }
  for (const { file, hunks } of lists) {
    const path = join(home, file);
    writeFileSync(path, hunks.reduce(patched, readFileSync(path, 'utf8')));
  }
  compilerOutput = await compile();
}, 120_000);

afterAll(() => rmSync(home, { recursive: true }));

/** Runs a tool of the repository on the copy. @returns its output if it fails, otherwise an empty string */
const run = (tool: string, ...args: string[]): Promise<string> =>
  promisify(execFile)(process.execPath, [join(ROOT, 'node_modules', tool), ...args], { cwd: home }).then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );

const compile = (...more: string[]): Promise<string> =>
  run('typescript/bin/tsc', '-p', 'tsconfig.build.json', ...more);

describe('a domain added as docs/adding-a-domain.md says', () => {
  it('takes at most 8 new or changed files, all named in the guide', () => {
    expect(newFiles).toEqual(filesBelow(FIXTURE));
    expect(lists.map(({ file }) => file)).toEqual([
      'src/domains/index.ts',
      'src/store/sqlite/domains.ts',
      'src/store/mongo/domains.ts',
    ]);
    expect(newFiles.length + lists.length).toBeLessThanOrEqual(8);
  });

  it('compiles', () => {
    expect(compilerOutput).toBe('');
  });

  it('has a migration for the version after the latest', () => {
    expect(readFileSync(join(FIXTURE, 'src/store/sqlite/supplier.ts'), 'utf8')).toContain(
      `const migrations = {\n  ${LATEST + 1}: `,
    );
  });

  it('passes the lint rules, including those for imports', { timeout: 120_000 }, async () => {
    expect(await run('@biomejs/biome/bin/biome', 'lint', '--error-on-warnings', 'src')).toBe('');
  });

  it.each([
    ['src/domains/index.ts', /domains\/event\/event\.ts.*[\s\S]*supplier\.created/],
    ['src/store/sqlite/domains.ts', /sqlite-store\.ts.*[\s\S]*createSupplier/],
    ['src/store/mongo/domains.ts', /mongo-store\.ts.*[\s\S]*createSupplier/],
  ])('does not compile without its entry in %s', { timeout: 120_000 }, async (file, error) => {
    const path = join(home, file);
    const list = readFileSync(path, 'utf8');
    writeFileSync(path, readFileSync(join(ROOT, file)));
    const output = await compile('--noEmit');
    writeFileSync(path, list);
    expect(output).toMatch(error);
  });
});

describe.each(engines)('the added domain in $name', ({ name }) => {
  const database = `supplier-${randomUUID().slice(0, 8)}`;
  let server: ServerProcess;
  let call: (
    method: string,
    path: string,
    body?: unknown,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape is what they test
  ) => Promise<{ status: number; headers: Headers; json: any }>;

  beforeAll(async () => {
    const settings = {
      SAMPLE_DATA: 'on',
      ...(name === 'mongodb'
        ? { MONGODB_URI: mongoUri(database) }
        : { DATA_FILE: join(home, `${database}.db`) }),
    };
    // Existing data from a server without the domain.
    const serverWithoutDomain = await startServer(settings);
    serverWithoutDomain.child.kill();
    await serverWithoutDomain.exited;

    server = await startServer(settings, { home });
    const key = name === 'mongodb' ? await newKey(settings) : printedKey(server);
    call = async (method, path, body) => {
      const response = await fetch(server.url + path, {
        method,
        headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        json: text === '' ? undefined : JSON.parse(text),
      };
    };
  }, 120_000);

  afterAll(async () => {
    server?.child.kill();
    await server?.exited;
    if (name === 'mongodb') await dropDatabase(database);
  });

  const graphql = async (query: string, variables: object = {}) => {
    const { json } = await call('POST', '/graphql', { query, variables });
    expect(json.errors).toBeUndefined();
    return json.data;
  };

  it('keeps existing pets and starts without suppliers', async () => {
    expect((await call('GET', '/pets?limit=100')).json).toHaveLength(10);
    expect((await call('GET', '/suppliers')).json).toEqual([]);
  });

  it('creates, reads, lists, replaces, updates and deletes suppliers over REST', async () => {
    const created = await call('POST', '/suppliers', { name: '  North ' });
    expect(created.status).toBe(201);
    const { id } = created.json;
    expect(created.json).toEqual({ id: expect.any(Number), name: 'North' });
    expect(created.headers.get('location')).toBe(`/suppliers/${id}`);
    const path = `/suppliers/${id}`;
    expect(await call('GET', path)).toMatchObject({ status: 200, json: { id, name: 'North' } });

    const other = (await call('POST', '/suppliers', { name: 'South' })).json;
    const first = await call('GET', '/suppliers?limit=1');
    expect(first).toMatchObject({ status: 200, json: [{ id, name: 'North' }] });
    expect(first.headers.get('link')).toContain('rel="next"');
    expect((await call('GET', `/suppliers?after=${id}`)).json).toEqual([other]);

    expect(await call('PUT', path, { name: 'East' })).toMatchObject({
      status: 200,
      json: { id, name: 'East' },
    });
    expect(await call('PATCH', path, { name: 'West' })).toMatchObject({
      status: 200,
      json: { id, name: 'West' },
    });
    expect((await call('PATCH', path, {})).json).toEqual({ id, name: 'West' });
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('DELETE', `/suppliers/${other.id}`)).status).toBe(204);
    expect((await call('GET', '/suppliers')).json).toEqual([]);
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('responds 404 to %s of an unknown id', async (method) => {
    const body = method.startsWith('P') ? { name: 'Nobody' } : undefined;
    const { status, json } = await call(method, '/suppliers/4711', body);
    expect({ status, json }).toEqual({
      status: 404,
      json: { code: 'NOT_FOUND', message: 'There is no supplier 4711.', status: 404 },
    });
  });

  it.each([
    ['POST', '/suppliers', {}, 'name: is required.'],
    ['POST', '/suppliers', { name: ' ' }, 'name: must have 1 to 200 characters.'],
    ['POST', '/suppliers', { name: 'A', city: 'B' }, 'city: is not a known field.'],
    ['PATCH', '/suppliers/1', { name: null }, 'name: must be a string.'],
    ['GET', '/suppliers?limit=0', undefined, 'limit: must be an integer from 1 to 100.'],
    ['GET', '/suppliers/x', undefined, 'supplierId: must be an integer from 1 to 9223372036854775807.'],
  ])('rejects %s %s with %j', async (method, path, body, message) => {
    const { json } = await call(method, path, body);
    expect(json).toEqual({ code: 'VALIDATION_FAILED', message, status: 400 });
  });

  it('creates, reads, lists, updates and deletes suppliers over GraphQL', async () => {
    const { north, south } = await graphql(
      'mutation { north: createSupplier(input: { name: "North" }) { id } south: createSupplier(input: { name: "South" }) { id nodeId } }',
    );
    const read = `query ($id: ID!, $nodeId: ID!) {
      supplier(id: $id) { id name }
      nobody: supplier(id: 4711) { id }
      node(nodeId: $nodeId) { ... on Supplier { name } }
      suppliers(first: 1) { nodes { name } totalCount pageInfo { hasNextPage endCursor } }
    }`;
    expect(await graphql(read, { id: north.id, nodeId: south.nodeId })).toEqual({
      supplier: { id: north.id, name: 'North' },
      nobody: null,
      node: { name: 'South' },
      suppliers: {
        nodes: [{ name: 'North' }],
        totalCount: 2,
        pageInfo: { hasNextPage: true, endCursor: north.id },
      },
    });
    const change = `mutation ($north: ID!, $south: ID!) {
      updateSupplier(id: $north, input: { name: "West" }) { name }
      deleteSupplier(id: $south)
    }`;
    expect(await graphql(change, { north: north.id, south: south.id })).toEqual({
      updateSupplier: { name: 'West' },
      deleteSupplier: south.id,
    });
    const { json } = await call('POST', '/graphql', {
      query: 'mutation { createSupplier(input: { name: "" }) { id } }',
    });
    expect(json.errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ path: 'name' }],
    });
    const { json: unknown } = await call('POST', '/graphql', {
      query: 'mutation { deleteSupplier(id: 4711) }',
    });
    expect(unknown.errors[0].extensions).toEqual({ code: 'NOT_FOUND', status: 404 });
  });

  it('logs each change as one event, and none for a write that changes nothing', async () => {
    const types = ['created', 'updated', 'deleted'].map((change) => `supplier.${change}`);
    const before = (await call('GET', `/events?limit=100&type=${types.join('&type=')}`)).json.at(-1).id;
    const { id } = (await call('POST', '/suppliers', { name: 'North' })).json;
    const path = `/suppliers/${id}`;
    await call('PATCH', path, { name: 'North' });
    await call('PATCH', path, { name: 'South' });
    const read = `query ($after: ID) {
      events(after: $after, types: [supplier_created, supplier_updated, supplier_deleted]) {
        nodes { type data supplier { name } pet { id } }
      }
    }`;
    const nodes = (await graphql(read, { after: before })).events.nodes;
    expect(nodes).toEqual([
      { type: 'supplier_created', data: { id, name: 'North' }, supplier: { name: 'South' }, pet: null },
      { type: 'supplier_updated', data: { id, name: 'South' }, supplier: { name: 'South' }, pet: null },
    ]);
    await call('DELETE', path);
    const events = (await call('GET', `/events?after=${before}`)).json;
    expect(events.map(({ type, data }: { type: string; data: object }) => ({ type, data }))).toEqual([
      { type: 'supplier.created', data: { id, name: 'North' } },
      { type: 'supplier.updated', data: { id, name: 'South' } },
      { type: 'supplier.deleted', data: { id } },
    ]);
  });

  it('appears in the OpenAPI description', async () => {
    const { paths, components, tags } = (await call('GET', '/openapi.json')).json;
    expect(tags).toContainEqual({ name: 'Suppliers', description: 'The suppliers of the store.' });
    expect(paths['/suppliers'].get.tags).toEqual(['Suppliers']);
    expect(Object.keys(paths['/suppliers'])).toEqual(['get', 'post']);
    expect(Object.keys(paths['/suppliers/{supplierId}'])).toEqual(
      expect.arrayContaining(['get', 'put', 'patch', 'delete']),
    );
    expect(paths['/suppliers'].post.responses['201'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Supplier',
    });
    expect(components.schemas).toHaveProperty('NewSupplier');
    expect(components.schemas.EventType.enum).toContain('supplier.updated');
    expect(components.schemas.Event.properties.data.oneOf).toContainEqual({
      $ref: '#/components/schemas/Supplier',
    });
  });
});
