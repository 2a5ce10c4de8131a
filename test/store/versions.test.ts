import { randomUUID } from 'node:crypto';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { readExport, readManifest, writeExport } from '../../src/cli/dump-files.ts';
import { declareRecord } from '../../src/foundation/declare-record.ts';
import * as fields from '../../src/foundation/fields.ts';
import type { AnyDeclaration } from '../../src/foundation/record.ts';
import { openMongoTarget } from '../../src/store/mongo/dump.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteTarget } from '../../src/store/sqlite/dump.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { apiWith } from '../kit/declared.ts';
import { EventStreamClient } from '../kit/event-stream.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { TestGateway } from '../kit/gateway.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { engines } from '../kit/stores.ts';

const home = temporaryFolder();

/** A program of a version: with the field `description`, or that field under another name. */
function program(version: 'earlier' | 'later') {
  const described = fields.optional(fields.text(50, 'A text', 'a'));
  const [field, declared] =
    version === 'earlier' ? ['description', described] : ['about', fields.formerly('description', described)];
  const Thing = declareRecord({
    kind: 'thing',
    plural: 'things',
    type: 'Thing',
    description: 'A thing.',
    fields: { label: fields.name('A name', 'Rex'), [field as string]: declared as typeof described },
    sorts: [field as string],
    unique: [[field as string]],
  }) as AnyDeclaration;
  const api = apiWith([Thing]);
  const { records } = api;
  return {
    Thing,
    api,
    /** @param file the copy of a data file, since this process has not let go of the other */
    open: (engine: string, place: string, file = place): Promise<Store> | Store =>
      engine === 'sqlite'
        ? openSqliteStore({ records, file: join(home, file), role: 'server' })
        : openMongoStore({ records, uri: mongoUri(place) }),
    target: (engine: string, place: string) =>
      engine === 'sqlite'
        ? openSqliteTarget(join(home, place), records)
        : openMongoTarget({ records, uri: mongoUri(place) }),
  };
}

/** Copies a data file, since this process has not let go of the one that it had opened. */
function copyFile(from: string, to: string): void {
  for (const end of ['', '-wal'])
    if (existsSync(join(home, `${from}${end}`)))
      cpSync(join(home, `${from}${end}`), join(home, `${to}${end}`));
}

describe.each(engines)('a field with another name ($name)', ({ name: engine }) => {
  const place = `renamed-${randomUUID().slice(0, 8)}`;
  const imported = `imported-${randomUUID().slice(0, 8)}`;
  afterAll(async () => {
    if (engine === 'mongodb') for (const database of [place, imported]) await dropDatabase(database);
  });

  it('keeps its values, which are listed, unique, changed, told and imported by the new name', async () => {
    const earlier = program('earlier');
    const before = await earlier.open(engine, place);
    for (const description of ['Éva', 'Bert', undefined, 'eva'])
      await before.table(earlier.Thing).insert({ label: 'Rex', description } as never);
    const directory = join(home, `export-${engine}`);
    await writeExport(directory, before, earlier.api, () => {});
    const { events } = await before.eventPage({ limit: 100 });
    expect(events.at(-1)!.record).toMatchObject({ description: 'eva' });
    await before.close();

    const later = program('later');
    copyFile(place, `${place}-2`);
    const after = await later.open(engine, place, `${place}-2`);
    const target = await later.target(engine, imported);
    await readExport(directory, await readManifest(directory, later.api), target, later.api, () => {});
    await target.close();
    const moved = await later.open(engine, imported);
    for (const store of [after, moved]) {
      const things = store.table(later.Thing);
      const order = { field: 'about', descending: false };
      const { items } = await things.page({}, { limit: 9, order });
      const thing = (id: string, about?: string) => ({ id, label: 'Rex', ...(about && { about }) });
      const all = [thing('2', 'Bert'), thing('1', 'Éva'), thing('4', 'eva'), thing('3')];
      expect(items).toEqual(all);
      const page = await things.page({ about: { prefix: 'e' } } as never, { limit: 9, order });
      expect(page.items).toEqual(all.slice(1, 3));
      await expect(things.insert({ label: 'X', about: 'Bert' } as never)).rejects.toThrow('with this about');
      expect(await things.update('3', { about: 'New' } as never)).toEqual(thing('3', 'New'));
      expect(await things.byIds(['3'])).toEqual([thing('3', 'New')]);
    }
    const told = (await after.eventPage({ limit: 100 })).events.map(({ record }) => record);
    expect(told).toEqual([
      { id: '1', label: 'Rex', about: 'Éva' },
      { id: '2', label: 'Rex', about: 'Bert' },
      { id: '3', label: 'Rex' },
      { id: '4', label: 'Rex', about: 'eva' },
      { id: '3', label: 'Rex', about: 'New' },
    ]);
    await after.close();
    await moved.close();
  });
});

describe.each(engines)('events of records that this version does not declare ($name)', ({ name: engine }) => {
  const place = `versions-${randomUUID().slice(0, 8)}`;
  afterAll(async () => {
    if (engine === 'mongodb') await dropDatabase(place);
  });

  it('are left out of lists, streams and subscriptions, which go on behind them', async () => {
    const other = program('earlier');
    const before = await other.open(engine, place);
    const write = async (category: string) => {
      await before.table(Category).insert({ name: category });
      await before.table(other.Thing).insert({ label: 'Rex' } as never);
    };
    for (const name of ['One', 'Two', 'Three']) await write(name);
    if (engine === 'sqlite') await before.close();
    copyFile(place, `${place}-2`);
    const store =
      engine === 'sqlite'
        ? openSqliteStore({ records: api.records, file: join(home, `${place}-2`), role: 'server' })
        : await openMongoStore({ records: api.records, uri: mongoUri(place) });
    const gateway = await TestGateway.start(store);
    const names: string[] = [];
    let path = '/events?limit=2';
    for (let page = 0; page < 5; page++) {
      const { status, headers, json } = await gateway.call(path);
      expect(status).toBe(200);
      names.push(...json.map(({ data }: { data: { name: string } }) => data.name));
      path = /<([^>]+)>; rel="next"/.exec(`${headers.link}`)![1]!;
    }
    expect(names).toEqual(['One', 'Two', 'Three']);
    const query = '{ events(last: 3) { nodes { type } } }';
    expect((await gateway.graphql(query)).json).toEqual({
      data: { events: { nodes: expect.arrayContaining([{ type: 'category_created' }]) } },
    });
    const { json: first } = await gateway.call('/events?limit=1');
    const stream = await EventStreamClient.open(gateway, `/events/stream?after=${first[0].id}`);
    await stream.until(2);
    // Both versions run beside each other, as they do while instances are replaced.
    if (engine === 'mongodb') await write('Four');
    else await store.table(Category).insert({ name: 'Four' });
    await stream.until(3);
    expect(stream.events.map(({ data }) => data.name)).toEqual(['Two', 'Three', 'Four']);
    stream.close();
    if (engine === 'mongodb') await before.close();
    await gateway.close();
    await store.close();
  });
});
