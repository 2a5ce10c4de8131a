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
import { dropDatabase, mongoUri } from './kit/mongo.ts';
import { printedKey, runKeys, type ServerProcess, startServer } from './kit/process.ts';
import { engines } from './kit/stores.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FIXTURE = join(ROOT, 'test/fixtures/vaccination');
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

/** What a changed line adds to the end of a list: further domains may have been added to it since. */
function appended(text: string, before: string, after: string): string {
  const [start] = before.split(/(?<== \[)/) as [string];
  const lines = text.split('\n').filter((line) => line.startsWith(start));
  expect(lines, `the sources have one line: ${start}`).toHaveLength(1);
  const addition = after.slice(before.length - '];'.length);
  return text.replace(lines[0]!, lines[0]!.replace(/\];$/, addition));
}

/** Applies a hunk to a text, which must contain its old lines exactly once. */
function patched(text: string, hunk: readonly string[]): string {
  const [first, second] = hunk.map((line) => line.slice(1));
  if (hunk.length === 2 && hunk[0]!.startsWith('-')) return appended(text, first!, second!);
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
  home = mkdtempSync(join(tmpdir(), 'petstore-vaccination-'));
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
  it('takes at most 8 files and 300 lines, all named in the guide', () => {
    expect(newFiles).toEqual(filesBelow(FIXTURE));
    const written = newFiles.map((file) => readFileSync(join(FIXTURE, file), 'utf8').split('\n').length - 1);
    const changed = lists.flatMap(({ hunks }) => hunks.flat()).filter((line) => line.startsWith('+'));
    expect(newFiles.length + lists.length).toBeLessThanOrEqual(8);
    expect(written.reduce((sum, lines) => sum + lines, changed.length)).toBeLessThanOrEqual(300);
  });

  it('compiles', () => {
    expect(compilerOutput).toBe('');
  });

  it('passes the lint rules, including those for imports', { timeout: 120_000 }, async () => {
    const changed = [...newFiles, ...lists.map(({ file }) => file)].filter((file) => file.startsWith('src/'));
    expect(await run('@biomejs/biome/bin/biome', 'lint', '--error-on-warnings', ...changed)).toBe('');
  });
});

describe.each(engines)('the added domain in $name', ({ name }) => {
  const database = `vaccination-${randomUUID().slice(0, 8)}`;
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

  const newPet = async (): Promise<number> =>
    (await call('POST', '/pets', { name: 'Rex', categoryId: 1 })).json.id;

  it('keeps existing pets and starts without vaccinations', async () => {
    expect((await call('GET', '/pets?limit=100')).json).toHaveLength(10);
    expect((await call('GET', '/vaccinations')).json).toEqual([]);
  });

  it('creates, reads, lists, replaces, updates and deletes over REST', async () => {
    const petId = await newPet();
    const date = '2026-01-31';
    const created = await call('POST', '/vaccinations', { petId, vaccine: '  Rabies ', date });
    expect(created.status).toBe(201);
    const { id } = created.json;
    expect(created.json).toEqual({ id: expect.any(Number), petId, vaccine: 'Rabies', date });
    expect(created.headers.get('location')).toBe(`/vaccinations/${id}`);
    const path = `/vaccinations/${id}`;
    expect(await call('GET', path)).toMatchObject({ status: 200, json: created.json });

    const other = (await call('POST', '/vaccinations', { petId, vaccine: 'Flu', date })).json;
    const first = await call('GET', `/vaccinations?petId=${petId}&limit=1`);
    expect(first).toMatchObject({ status: 200, json: [created.json] });
    expect(first.headers.get('link')).toContain('rel="next"');
    expect((await call('GET', `/vaccinations?after=${id}`)).json).toEqual([other]);
    expect((await call('GET', '/vaccinations?sort=-id')).json).toEqual([other, created.json]);
    expect((await call('GET', `/vaccinations?petId=${petId + 1}`)).json).toEqual([]);

    const replaced = { petId, vaccine: 'Rabies', date: '2026-02-01' };
    expect(await call('PUT', path, { id, ...replaced })).toMatchObject({ status: 200, json: replaced });
    expect((await call('PATCH', path, { date })).json).toEqual(created.json);
    expect((await call('PATCH', path, {})).json).toEqual(created.json);
    expect((await call('DELETE', path)).status).toBe(204);
    expect((await call('DELETE', `/vaccinations/${other.id}`)).status).toBe(204);
    expect((await call('GET', '/vaccinations')).json).toEqual([]);
  });

  it.each(['GET', 'DELETE', 'PUT', 'PATCH'])('responds 404 to %s of an unknown id', async (method) => {
    const body = { petId: 1, vaccine: 'None', date: '2026-01-31' };
    const { json } = await call(method, '/vaccinations/4711', method.startsWith('P') ? body : undefined);
    expect(json).toEqual({ code: 'NOT_FOUND', message: 'There is no vaccination 4711.', status: 404 });
  });

  it.each([
    ['POST', '/vaccinations', {}, 'petId: is required; vaccine: is required; date: is required.'],
    [
      'POST',
      '/vaccinations',
      { petId: 1, vaccine: 'A', date: '2026-02-30' },
      'date: must be a date such as 2026-11-22.',
    ],
    [
      'POST',
      '/vaccinations',
      { petId: 1, vaccine: 'A', date: '2026-01-31', by: 'B' },
      'by: is not a known field.',
    ],
    ['PATCH', '/vaccinations/1', { vaccine: null }, 'vaccine: must be a string.'],
    ['GET', '/vaccinations/x', undefined, 'vaccinationId: must be an integer from 1 to 9223372036854775807.'],
  ])('rejects %s %s with %j', async (method, path, body, message) => {
    expect((await call(method, path, body)).json).toEqual({
      code: 'VALIDATION_FAILED',
      message,
      status: 400,
    });
  });

  it('refers to pets that exist, and keeps them from being deleted', async () => {
    const petId = await newPet();
    const unknown = { petId: 4711, vaccine: 'Rabies', date: '2026-01-31' };
    const refused = { code: 'UNKNOWN_REFERENCE', message: 'petId: there is no pet 4711.', status: 422 };
    expect((await call('POST', '/vaccinations', unknown)).json).toEqual(refused);
    const { id } = (await call('POST', '/vaccinations', { ...unknown, petId })).json;
    expect((await call('PATCH', `/vaccinations/${id}`, { petId: 4711 })).json).toEqual(refused);
    const message = `Pet ${petId} cannot be deleted because it still has vaccinations.`;
    expect((await call('DELETE', `/pets/${petId}`)).json).toEqual({ code: 'CONFLICT', message, status: 409 });
    expect((await call('DELETE', `/vaccinations/${id}`)).status).toBe(204);
    expect((await call('DELETE', `/pets/${petId}`)).status).toBe(204);
  });

  it('leaves no vaccination without its pet when vaccinations are created during its deletion', async () => {
    for (let round = 0; round < 4; round++) {
      const petId = await newPet();
      const creations = Array.from({ length: 4 }, (_, i) =>
        call('POST', '/vaccinations', { petId, vaccine: `V${i}`, date: '2026-01-31' }),
      );
      const [deleted, ...created] = await Promise.all([call('DELETE', `/pets/${petId}`), ...creations]);
      const left = (await call('GET', `/vaccinations?petId=${petId}`)).json;
      expect([204, 409]).toContain(deleted!.status);
      expect(left).toHaveLength(created.filter(({ status }) => status === 201).length);
      if (deleted!.status === 204) expect(left).toEqual([]);
    }
  });

  it('is unique for pet, vaccine and date, also under concurrency', async () => {
    const body = { petId: await newPet(), vaccine: 'Flu', date: '2026-03-01' };
    const statuses = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/vaccinations', body)));
    expect(statuses.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409]);
    const message = 'There is already a vaccination with this petId, vaccine, date.';
    const taken = { code: 'CONFLICT', message, status: 409 };
    expect((await call('POST', '/vaccinations', body)).json).toEqual(taken);
    const { id } = (await call('POST', '/vaccinations', { ...body, date: '2026-03-02' })).json;
    expect((await call('PATCH', `/vaccinations/${id}`, { date: body.date })).json).toEqual(taken);
    expect((await call('PATCH', `/vaccinations/${id}`, { vaccine: 'Rabies' })).status).toBe(200);
  });

  it('creates, reads, lists, updates and deletes over GraphQL, below its pet too', async () => {
    const petId = String(await newPet());
    const create = `mutation ($a: NewVaccination!, $b: NewVaccination!) {
      a: createVaccination(input: $a) { id } b: createVaccination(input: $b) { id nodeId }
    }`;
    const input = { petId, date: '2026-01-31' };
    const variables = { a: { ...input, vaccine: 'A' }, b: { ...input, vaccine: 'B' } };
    // A standalone server writes one field an operation.
    const { a, b } = await graphql(create, variables);
    const read = `query ($petId: ID!, $id: ID!, $nodeId: ID!) {
      vaccination(id: $id) { vaccine date pet { name } }
      nobody: vaccination(id: 4711) { id }
      node(nodeId: $nodeId) { ... on Vaccination { vaccine } }
      pet(id: $petId) { vaccinations(first: 1) { nodes { id } totalCount pageInfo { hasNextPage } } }
      vaccinations(filter: { petId: $petId }) { totalCount }
    }`;
    expect(await graphql(read, { petId, id: a.id, nodeId: b.nodeId })).toEqual({
      vaccination: { vaccine: 'A', date: '2026-01-31', pet: { name: 'Rex' } },
      nobody: null,
      node: { vaccine: 'B' },
      pet: { vaccinations: { nodes: [{ id: a.id }], totalCount: 2, pageInfo: { hasNextPage: true } } },
      vaccinations: { totalCount: 2 },
    });
    const change = `mutation ($a: ID!, $b: ID!) {
      updateVaccination(id: $a, input: { date: "2026-02-01" }) { date }
      deleteVaccination(id: $b)
    }`;
    expect(await graphql(change, { a: a.id, b: b.id })).toEqual({
      updateVaccination: { date: '2026-02-01' },
      deleteVaccination: b.id,
    });
    const { json } = await call('POST', '/graphql', {
      query: 'mutation { createVaccination(input: { petId: 1, vaccine: "", date: "2026-01-31" }) { id } }',
    });
    expect(json.errors[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      fields: [{ path: 'vaccine' }],
    });
  });

  it('logs each change as one event, and none for a write that changes nothing', async () => {
    const petId = await newPet();
    const before = (await call('GET', '/events?limit=100&type=pet.created')).json.at(-1).id;
    const { id } = (await call('POST', '/vaccinations', { petId, vaccine: 'A', date: '2026-01-31' })).json;
    const path = `/vaccinations/${id}`;
    await call('PATCH', path, { vaccine: 'A' });
    await call('PATCH', path, { vaccine: 'B' });
    const read = `query ($after: ID) {
      events(after: $after, types: [vaccination_created, vaccination_updated, vaccination_deleted]) {
        nodes { type data vaccination { vaccine } pet { id } }
      }
    }`;
    const data = (vaccine: string) => ({ id, petId, vaccine, date: '2026-01-31' });
    const vaccination = { vaccine: 'B' };
    expect((await graphql(read, { after: before })).events.nodes).toEqual([
      { type: 'vaccination_created', data: data('A'), vaccination, pet: null },
      { type: 'vaccination_updated', data: data('B'), vaccination, pet: null },
    ]);
    await call('DELETE', path);
    const events = (await call('GET', `/events?after=${before}`)).json;
    expect(events.map(({ type, data }: { type: string; data: object }) => ({ type, data }))).toEqual([
      { type: 'vaccination.created', data: data('A') },
      { type: 'vaccination.updated', data: data('B') },
      { type: 'vaccination.deleted', data: { id } },
    ]);
  });

  it('appears in the OpenAPI description, and so does what it holds off', async () => {
    const { paths, components, tags } = (await call('GET', '/openapi.json')).json;
    expect(tags).toContainEqual({ name: 'Vaccinations', description: 'The vaccinations of pets.' });
    expect(Object.keys(paths['/vaccinations'])).toEqual(['get', 'post']);
    expect(Object.keys(paths['/vaccinations/{vaccinationId}'])).toEqual(
      expect.arrayContaining(['get', 'put', 'patch', 'delete']),
    );
    expect(Object.keys(paths['/vaccinations'].post.responses)).toEqual(
      expect.arrayContaining(['409', '422']),
    );
    expect(components.schemas.Vaccination.properties.date).toMatchObject({ type: 'string', format: 'date' });
    expect(paths['/pets/{petId}'].delete.description).toMatch(/Refused while the pet has .*\bvaccinations\b/);
    expect(components.schemas.EventType.enum).toContain('vaccination.updated');
    expect(components.schemas.Event.properties.data.oneOf).toContainEqual({
      $ref: '#/components/schemas/Vaccination',
    });
  });

  it('offers its operations to agents, page by page', async () => {
    const pages: string[][] = [];
    let cursor: string | undefined;
    do {
      const { json } = await call('POST', '/mcp', {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/list',
        params: { cursor },
      });
      expect(Buffer.byteLength(JSON.stringify(json))).toBeLessThanOrEqual(24_576);
      pages.push(json.result.tools.map((tool: { name: string }) => tool.name));
      cursor = json.result.nextCursor;
    } while (cursor !== undefined);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat()).toEqual([...new Set(pages.flat())].toSorted());
    expect(pages.flat()).toEqual(expect.arrayContaining(['createVaccination', 'getPet', 'updateWebhook']));
  });
});
