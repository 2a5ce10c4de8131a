import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readExport, readManifest, writeExport } from '../../src/cli/dump-files.ts';
import { declareRecord } from '../../src/foundation/declare-record.ts';
import * as fields from '../../src/foundation/fields.ts';
import type { AnyRecord } from '../../src/foundation/record.ts';
import { openMongoTarget } from '../../src/store/mongo/dump.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteTarget } from '../../src/store/sqlite/dump.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { apiWith } from '../kit/declared.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { engines } from '../kit/stores.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-renamed-'));
afterAll(() => rmSync(home, { recursive: true }));

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
  }) as AnyRecord;
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
    for (const end of ['', '-wal'])
      if (existsSync(join(home, `${place}${end}`)))
        cpSync(join(home, `${place}${end}`), join(home, `${place}-2${end}`));
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
