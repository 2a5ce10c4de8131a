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
import { RECORDS } from '../src/domains/index.ts';
import { addSampleData } from '../src/sample.ts';
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import type { Reply } from './kit/gateway.ts';
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
  for (const name of ['src', 'package.json', 'tsconfig.json', '.oxlintrc.json'])
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
  expect(await run('domain.ts', 'visit', '--of', 'pet')).toBe('');
  [compilerOutput] = await Promise.all([
    run('node_modules/typescript/bin/tsc', '--singleThreaded'),
    bundlePrograms(home),
  ]);
}, 120_000);

afterAll(() => rmSync(home, { recursive: true }));

/** Runs a tool of the repository on the copy. @returns its output if it fails, otherwise an empty string */
const run = (tool: string, ...args: string[]): Promise<string> =>
  promisify(execFile)(process.execPath, ['--import', join(ROOT, 'ts.mjs'), join(ROOT, tool), ...args], {
    cwd: home,
  }).then(
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
    expect(await run('node_modules/oxlint/bin/oxlint', '--deny-warnings', ...changed)).toBe('');
  });
});

// What declarations of any kind do is shown by domains/declarations.test.ts.
describe('the added domain', () => {
  let server: ServerProcess;

  beforeAll(async () => {
    // Existing data, which this process has not let go of.
    const file = join(home, 'before.db');
    const store = openSqliteStore({ records: RECORDS, file, role: 'server' });
    await addSampleData(store);
    await store.close();
    const DATA_FILE = join(home, 'petstore.db');
    cpSync(file, DATA_FILE);
    server = await startServer({ SAMPLE_DATA: 'on', DATA_FILE }, { home });
  }, 120_000);

  afterAll(async () => {
    server?.child.kill();
    await server?.exited;
  });

  const call = async (
    method: string,
    path: string,
    body?: unknown,
  ): Promise<Pick<Reply, 'status' | 'json'>> => {
    const response = await fetch(server.url + path, {
      method,
      headers: { 'x-api-key': printedKey(server), 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, json: text === '' ? undefined : JSON.parse(text) };
  };
  const graphql = async (query: string, variables: object = {}) => {
    const { json } = await call('POST', '/graphql', { query, variables });
    expect(json.errors).toBeUndefined();
    return json.data;
  };
  const newPet = async (): Promise<number> =>
    (await call('POST', '/pets', { name: 'Rex', categoryId: 1 })).json.id;
  const AT = '2026-12-01T09:30:00Z';
  const LATER = '2026-12-02T09:30:00Z';
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

  it('is served over both interfaces, with the field written for it', async () => {
    const petId = await newPet();
    const time = '2026-12-01T10:30:00.000+01:00';
    const { json } = await call('POST', '/appointments', { petId, vet: '  Dr. Moreau ', time });
    expect(json).toMatchObject({ petId, vet: 'Dr. Moreau', time: AT, status: 'booked' });
    for (const query of ['vet=dr&status=booked&sort=-vet', 'time=2026-12-01T10:30:00%2B01:00'])
      expect((await call('GET', `/appointments?petId=${petId}&${query}`)).json).toEqual([json]);
    const { message } = (await call('GET', '/appointments?vet=A&sort=time')).json;
    expect(message).toBe('sort: must be by vet when the list is filtered by vet.');
    const read = `{ appointment(id: ${json.id}) { vet pet { name } petCategory { name } } }`;
    expect(await graphql(read)).toEqual({
      appointment: { vet: 'Dr. Moreau', pet: { name: 'Rex' }, petCategory: { name: 'Dogs' } },
    });
  });

  it('keeps pets from being deleted while they are expected', async () => {
    const petId = await newPet();
    const path = `/appointments/${(await book(petId)).json.id}`;
    const message = `Pet ${petId} cannot be deleted because it still has booked appointments.`;
    expect((await call('DELETE', `/pets/${petId}`)).json).toEqual({ code: 'CONFLICT', message, status: 409 });
    await call('PATCH', path, { status: 'kept' });
    expect((await call('DELETE', `/pets/${petId}`)).status).toBe(204);
    const left = `{ appointments(filter: { petId: ${petId} }) { nodes { pet { id } petCategory { id } } } }`;
    expect(await graphql(left)).toEqual({ appointments: { nodes: [{ pet: null, petCategory: null }] } });
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
  });

  it('logs each change as one event, and none for a write that changes nothing', async () => {
    const petId = await newPet();
    const before = (await call('GET', '/events?limit=100&type=pet.created')).json.at(-1).id;
    const { id } = (await book(petId, 'A')).json;
    for (const vet of ['A', 'B']) await call('PATCH', `/appointments/${id}`, { vet });
    const read = `query ($after: ID) {
      events(after: $after, types: [appointment_created, appointment_updated]) {
        nodes { type data appointment { vet } }
      }
    }`;
    const data = (vet: string) => ({ id, petId, vet, time: AT, status: 'booked' });
    expect((await graphql(read, { after: before })).events.nodes).toEqual([
      { type: 'appointment_created', data: data('A'), appointment: { vet: 'B' } },
      { type: 'appointment_updated', data: data('B'), appointment: { vet: 'B' } },
    ]);
  });

  it('appears in the OpenAPI description, and so does what it holds off', async () => {
    const { paths, components, tags } = (await call('GET', '/openapi.json')).json;
    expect(tags[0]).toEqual({ name: 'Appointments', description: 'The visits of pets to vets.' });
    const { description, responses } = paths['/appointments'].post;
    expect(responses).toMatchObject({ 409: {}, 422: {} });
    expect(description).toContain('Refused while another appointment has the same petId and time.');
    expect(paths['/pets/{petId}'].delete.description).toMatch(
      /Refused while the pet has .*booked appointments/,
    );
    expect(components.schemas.EventType.enum).toContain('appointment.updated');
    const { oneOf } = components.schemas.Event;
    expect(oneOf).toContainEqual({ $ref: '#/components/schemas/AppointmentUpdatedEvent' });
  });
});
