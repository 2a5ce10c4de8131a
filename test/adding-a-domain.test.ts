import { execFile } from 'node:child_process';
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
import { bundlePrograms } from '../bundle.ts';
import { printedKey, type ServerProcess, startServer } from './kit/process.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FIXTURE = join(ROOT, 'test/fixtures/appointment');
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

/** A copy of the sources with the domain added as the guide says. */
let home: string;
/** What the compiler prints about that copy. */
let compilerOutput: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'petstore-appointment-'));
  for (const name of ['src', 'package.json', 'tsconfig.json', 'biome.json'])
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
  // Another one, as the command writes it.
  expect(await run('tsx/dist/cli.mjs', join(ROOT, 'domain.ts'), 'visit', '--of', 'pet')).toBe('');
  [compilerOutput] = await Promise.all([run('typescript/bin/tsc', '--singleThreaded'), bundlePrograms(home)]);
}, 120_000);

afterAll(() => rmSync(home, { recursive: true }));

/** Runs a tool of the repository on the copy. @returns its output if it fails, otherwise an empty string */
const run = (tool: string, ...args: string[]): Promise<string> =>
  promisify(execFile)(process.execPath, [join(ROOT, 'node_modules', tool), ...args], { cwd: home }).then(
    () => '',
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );

describe('a domain added as docs/adding-a-domain.md says', () => {
  it('takes at most 3 files and 70 lines, all named in the guide', () => {
    expect(newFiles).toEqual(filesBelow(FIXTURE));
    const written = newFiles.map((file) => readFileSync(join(FIXTURE, file), 'utf8').split('\n').length - 1);
    const changed = lists.flatMap(({ hunks }) => hunks.flat()).filter((line) => line.startsWith('+'));
    expect(newFiles.length + lists.length).toBeLessThanOrEqual(3);
    expect(written.reduce((sum, lines) => sum + lines, changed.length)).toBeLessThanOrEqual(70);
  });

  it('compiles', () => {
    expect(compilerOutput).toBe('');
  });

  it('passes the lint rules, including those for imports', { timeout: 120_000 }, async () => {
    const visits = ['ts', 'domain.ts'].map((end) => `src/domains/visit/visit.${end}`);
    const changed = [...visits, ...newFiles, ...lists.map(({ file }) => file)].filter((file) =>
      file.startsWith('src/'),
    );
    expect(await run('@biomejs/biome/bin/biome', 'lint', '--error-on-warnings', ...changed)).toBe('');
  });
});

describe('the added domain', () => {
  let server: ServerProcess;
  let call: (
    method: string,
    path: string,
    body?: unknown,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies whose shape is what they test
  ) => Promise<{ status: number; headers: Headers; json: any }>;

  beforeAll(async () => {
    const settings = { SAMPLE_DATA: 'on', DATA_FILE: join(home, 'petstore.db') };
    // Existing data from a server without the domain.
    const serverWithoutDomain = await startServer(settings);
    serverWithoutDomain.child.kill();
    await serverWithoutDomain.exited;

    server = await startServer(settings, { home });
    const key = printedKey(server);
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
  });

  const graphql = async (query: string, variables: object = {}) => {
    const { json } = await call('POST', '/graphql', { query, variables });
    expect(json.errors).toBeUndefined();
    return json.data;
  };

  const newPet = async (): Promise<number> =>
    (await call('POST', '/pets', { name: 'Rex', categoryId: 1 })).json.id;
  const [AT, LATER] = ['2026-12-01T09:30:00Z', '2026-12-02T09:30:00Z'];
  const book = (petId: number, vet = 'Dr. Moreau', time = AT) =>
    call('POST', '/appointments', { petId, vet, time });

  it('keeps existing pets and starts without appointments', async () => {
    expect((await call('GET', '/pets?limit=100')).json).toHaveLength(10);
    expect((await call('GET', '/appointments')).json).toEqual([]);
  });

  it('serves what npm run domain has written', async () => {
    const petId = await newPet();
    const visit = { name: 'Check', petId };
    const { id } = (await call('POST', '/visits', visit)).json;
    expect((await call('GET', `/visits?petId=${petId}&name=c`)).json).toEqual([{ id, ...visit }]);
    expect(await graphql(`{ pet(id: ${petId}) { visits { nodes { name pet { name } } } } }`)).toEqual({
      pet: { visits: { nodes: [{ name: 'Check', pet: { name: 'Rex' } }] } },
    });
    expect((await call('DELETE', `/pets/${petId}`)).status).toBe(409);
  });

  it('creates, reads, replaces, updates and deletes over REST', async () => {
    const petId = await newPet();
    const time = '2026-12-01T10:30:00.000+01:00';
    const created = await call('POST', '/appointments', { petId, vet: '  Dr. Moreau ', time });
    const { id } = created.json;
    expect(created).toMatchObject({
      status: 201,
      json: { id, petId, vet: 'Dr. Moreau', time: AT, status: 'booked' },
    });
    const path = `/appointments/${id}`;
    expect(created.headers.get('location')).toBe(path);
    expect(await call('GET', path)).toMatchObject({ status: 200, json: created.json });
    const replaced = { petId, vet: 'Dr. Ö', time: LATER, status: 'missed' };
    expect(await call('PUT', path, { id, ...replaced })).toMatchObject({ status: 200, json: replaced });
    const listed = await call('GET', `/appointments?petId=${petId}&vet=dr&status=missed&sort=-vet`);
    expect(listed.json).toEqual([{ id, ...replaced }]);
    const at = await call('GET', `/appointments?petId=${petId}&time=2026-12-02T10:30:00%2B01:00`);
    expect(at.json).toEqual(listed.json);
    const refused = await call('GET', '/appointments?vet=A&sort=time');
    expect(refused.json.message).toBe('sort: must be vet or -vet together with `vet`.');
    const changes = { vet: 'Dr. Moreau', time: AT, status: 'booked' };
    expect((await call('PATCH', path, changes)).json).toEqual(created.json);
    expect((await call('DELETE', path)).status).toBe(204);
    const message = `There is no appointment ${id}.`;
    expect((await call('GET', path)).json).toEqual({ code: 'NOT_FOUND', message, status: 404 });
  });

  it('refers to pets that exist, and keeps them from being deleted while they are expected', async () => {
    const petId = await newPet();
    const refused = { code: 'UNKNOWN_REFERENCE', message: 'petId: there is no pet 4711.', status: 422 };
    expect((await book(4711)).json).toEqual(refused);
    const path = `/appointments/${(await book(petId)).json.id}`;
    expect((await call('PATCH', path, { petId: 4711 })).json).toEqual(refused);
    const message = `Pet ${petId} cannot be deleted because it still has booked appointments.`;
    expect((await call('DELETE', `/pets/${petId}`)).json).toEqual({ code: 'CONFLICT', message, status: 409 });
    await call('PATCH', path, { status: 'kept' });
    expect((await call('DELETE', `/pets/${petId}`)).status).toBe(204);
    const left = await graphql(
      `query ($petId: ID!) { appointments(filter: { petId: $petId }) { nodes { petId pet { id } } } }`,
      { petId },
    );
    expect(left.appointments.nodes).toEqual([{ petId: String(petId), pet: null }]);
    expect((await call('PATCH', path, { vet: 'Dr. Who' })).status).toBe(200);
    expect((await call('PATCH', path, { status: 'booked' })).json.code).toBe('UNKNOWN_REFERENCE');
  });

  it('is unique for pet and time, also under concurrency and however the instant is written', async () => {
    const petId = await newPet();
    const statuses = await Promise.all(Array.from({ length: 5 }, (_, i) => book(petId, `V${i}`)));
    expect(statuses.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409]);
    const message = 'There is already an appointment with this petId and time.';
    const taken = { code: 'CONFLICT', message, status: 409 };
    expect((await book(petId, 'A', '2026-12-01T10:30:00+01:00')).json).toEqual(taken);
    const { id } = (await book(petId, 'A', LATER)).json;
    expect((await call('PATCH', `/appointments/${id}`, { time: AT })).json).toEqual(taken);
    expect((await call('PATCH', `/appointments/${id}`, { vet: 'B' })).status).toBe(200);
  });

  it('creates, reads, updates and deletes over GraphQL', async () => {
    const petId = String(await newPet());
    const create = `mutation ($a: NewAppointment!, $b: NewAppointment!) {
      a: createAppointment(input: $a) { id } b: createAppointment(input: $b) { id nodeId }
    }`;
    const input = { petId, vet: 'A' };
    const { a, b } = await graphql(create, {
      a: { ...input, time: AT },
      b: { ...input, time: LATER, status: 'kept' },
    });
    const read = `query ($id: ID!, $nodeId: ID!) {
      appointment(id: $id) { vet time status pet { name } petCategory { name } }
      missing: appointment(id: 4711) { id }
      node(nodeId: $nodeId) { ... on Appointment { time status } }
    }`;
    expect(await graphql(read, { id: a.id, nodeId: b.nodeId })).toEqual({
      appointment: {
        ...{ vet: 'A', time: AT, status: 'booked', pet: { name: 'Rex' } },
        petCategory: { name: expect.any(String) },
      },
      missing: null,
      node: { time: LATER, status: 'kept' },
    });
    const change = `mutation ($a: ID!, $b: ID!) {
      updateAppointment(id: $a, input: { status: missed }) { status }
      deleteAppointment(id: $b)
    }`;
    expect(await graphql(change, { a: a.id, b: b.id })).toEqual({
      updateAppointment: { status: 'missed' },
      deleteAppointment: b.id,
    });
  });

  it('logs each change as one event, and none for a write that changes nothing', async () => {
    const petId = await newPet();
    const before = (await call('GET', '/events?limit=100&type=pet.created')).json.at(-1).id;
    const { id } = (await book(petId, 'A')).json;
    const path = `/appointments/${id}`;
    await call('PATCH', path, { vet: 'A' });
    await call('PATCH', path, { vet: 'B' });
    const read = `query ($after: ID) {
      events(after: $after, types: [appointment_created, appointment_updated, appointment_deleted]) {
        nodes { type appointment { vet } pet { id } }
      }
    }`;
    const now = { appointment: { vet: 'B' }, pet: null };
    expect((await graphql(read, { after: before })).events.nodes).toEqual([
      { type: 'appointment_created', ...now },
      { type: 'appointment_updated', ...now },
    ]);
    await call('DELETE', path);
    const events = (await call('GET', `/events?after=${before}`)).json;
    const data = (vet: string) => ({ id, petId, vet, time: AT, status: 'booked' });
    expect(events.map(({ type, data }: { type: string; data: object }) => ({ type, data }))).toEqual([
      { type: 'appointment.created', data: data('A') },
      { type: 'appointment.updated', data: data('B') },
      { type: 'appointment.deleted', data: { id } },
    ]);
  });

  it('appears in the OpenAPI description, and so does what it holds off', async () => {
    const { paths, components, tags } = (await call('GET', '/openapi.json')).json;
    const description = expect.any(String);
    const tag = { name: 'Appointments', description: 'The visits of pets to vets.' };
    expect(tags).toEqual([tag, { name: 'Pets', description }, { name: 'Store', description }]);
    expect(Object.keys(paths['/appointments'])).toEqual(['get', 'post']);
    expect(paths['/appointments/{appointmentId}']).toMatchObject({ get: {}, put: {}, patch: {}, delete: {} });
    expect(paths['/appointments'].post.responses).toMatchObject({ 409: {}, 422: {} });
    expect(components.schemas.Appointment.properties).toMatchObject({
      time: { type: 'string', format: 'date-time' },
    });
    expect(paths['/pets/{petId}'].delete.description).toMatch(
      /Refused while the pet has .*booked appointments/,
    );
    expect(paths['/appointments'].post.description).toContain(
      'Refused while another appointment has the same petId and time.',
    );
    expect(components.parameters['query.Appointment.status'].schema.items.$ref).toMatch(/AppointmentStatus$/);
    expect(components.schemas.EventType.enum).toContain('appointment.updated');
    const { oneOf } = components.schemas.Event.properties.data;
    expect(oneOf).toContainEqual({ $ref: '#/components/schemas/Appointment' });
  });

  it('offers its operations to agents', async () => {
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const { tools } = (await call('POST', '/mcp', list)).json.result;
    const names = tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(names.toSorted());
    expect(names).toEqual(expect.arrayContaining(['createAppointment', 'getPet', 'updateWebhook']));
  });
});
