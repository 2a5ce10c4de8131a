import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { api, FEATURES } from '../src/api.ts';
import { createApi } from '../src/domains/create-api.ts';
import { DOMAINS } from '../src/domains/index.ts';
import { addSampleData } from '../src/sample.ts';
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts';
import { appointment } from './fixtures/appointment/appointment.domain.ts';
import { visit } from './fixtures/visit/visit.domain.ts';
import { temporaryFolder } from './kit/folder.ts';
import { TestGateway } from './kit/gateway.ts';
import { makeWorld, onEachEngine, query, send } from './kit/petstore.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const guide = readFileSync(join(ROOT, 'docs/adding-a-domain.md'), 'utf8');
const home = temporaryFolder();

/** The files that the guide says to write, and its changes to existing lists. */
const newFiles = [...guide.matchAll(/^\| `(src\/[^`]+)` \|/gm)].map(([, file]) => file!);
const lists = [...guide.matchAll(/```diff\n--- (\S+)\n([\s\S]*?)```/g)].map(([, file, diff]) => ({
  file: file!,
  lines: diff!.split('\n').filter((line) => /^[ +-]/.test(line)),
}));

/** The API with the domain, and with the one that the command writes. */
const served = createApi([...DOMAINS, appointment, visit], FEATURES);

const fixture = (file: string) => readFileSync(join(ROOT, 'test/fixtures', file), 'utf8');

describe('a domain added as docs/adding-a-domain.md says', () => {
  it('takes at most 3 files and 70 lines, all named in the guide', () => {
    const files = ['appointment.ts', 'appointment.domain.ts'];
    expect(newFiles).toEqual(files.map((file) => `src/domains/appointment/${file}`));
    const written = files.flatMap((file) => fixture(`appointment/${file}`).trimEnd().split('\n'));
    const changed = lists.flatMap(({ lines }) => lines).filter((line) => line.startsWith('+'));
    expect(newFiles.length + lists.length).toBeLessThanOrEqual(3);
    expect(written.length + changed.length).toBeLessThanOrEqual(70);
  });

  it('changes lines that the sources have', () => {
    for (const { file, lines } of lists) {
      const source = readFileSync(join(ROOT, file), 'utf8');
      for (const line of lines.filter((line) => !line.startsWith('+')))
        // Further domains may have been added to the list since.
        expect(source).toContain(line.slice(1).replace(/\];$/, ''));
    }
  });

  it('is written by npm run domain', async () => {
    for (const folder of ['pet', 'x']) mkdirSync(join(home, 'src/domains', folder), { recursive: true });
    writeFileSync(join(home, 'src/domains/pet/pet.ts'), '');
    cpSync(join(ROOT, 'src/domains/index.ts'), join(home, 'src/domains/index.ts'));
    const command = ['--import', join(ROOT, 'ts.mjs'), join(ROOT, 'domain.ts'), 'visit', '--of', 'pet'];
    await promisify(execFile)(process.execPath, command, { cwd: home });
    for (const file of ['visit.ts', 'visit.domain.ts']) {
      const text = readFileSync(join(home, 'src/domains/visit', file), 'utf8');
      const moved = text
        .replaceAll("'../../", "'../../../src/")
        .replaceAll("'../p", "'../../../src/domains/p");
      expect(moved.replaceAll("'../r", "'../../../src/domains/r")).toBe(fixture(`visit/${file}`));
    }
    const index = readFileSync(join(home, 'src/domains/index.ts'), 'utf8');
    expect(index).toMatch(/^import \{ visit \} from '\.\/visit\/visit\.domain\.ts';$/m);
    expect(index).toMatch(/^export const DOMAINS.*, visit\];$/m);
  });

  it('keeps existing pets and starts without appointments', async () => {
    // A copy, since this process has not let go of the file.
    const [file, copy] = [join(home, 'before.db'), join(home, 'petstore.db')];
    const before = openSqliteStore({ records: api.records, file, role: 'server' });
    await addSampleData(before, api);
    await before.close();
    cpSync(file, copy);
    const store = openSqliteStore({ records: served.records, file: copy, role: 'server' });
    const gateway = await TestGateway.start(store, {}, undefined, { api: served });
    expect((await send(gateway, '/pets?limit=100')).json).toHaveLength(10);
    expect((await send(gateway, '/appointments')).json).toEqual([]);
    await gateway.close();
    await store.close();
  });
});

// What declarations of any kind do is shown by domains/declarations.long.test.ts.
onEachEngine(
  'the added domain',
  (kit) => {
    const call = (method: string, path: string, body?: unknown) =>
      send(kit.gateway, `${method} ${path}`, body === undefined ? {} : { body });
    const graphql = async (text: string, variables: object = {}) => {
      const { json } = await query(kit.gateway, text, variables as never);
      expect(json.errors).toBeUndefined();
      return json.data;
    };
    const newPet = async (): Promise<number> => {
      const { C } = await makeWorld(kit);
      return (await call('POST', '/pets', { name: 'Rex', categoryId: Number(C) })).json.id;
    };
    const AT = '2026-12-01T09:30:00Z';
    const LATER = '2026-12-02T09:30:00Z';
    const book = (petId: number, vet = 'Dr. Moreau', time = AT) =>
      call('POST', '/appointments', { petId, vet, time });

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
      for (const filter of ['vet=dr&status=booked&sort=-vet', 'time=2026-12-01T10:30:00%2B01:00'])
        expect((await call('GET', `/appointments?petId=${petId}&${filter}`)).json).toEqual([json]);
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
      expect((await call('DELETE', `/pets/${petId}`)).json).toEqual({
        code: 'CONFLICT',
        message,
        status: 409,
      });
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
  },
  served,
);
