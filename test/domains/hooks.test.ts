import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { load } from '../../src/cli/load.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { NOW } from '../../src/store/events.ts';
import { openSqliteTarget } from '../../src/store/sqlite/dump.ts';
import { Purchase } from '../fixtures/shop/purchase.ts';
import { apiWith } from '../kit/declared.ts';
import { temporaryFolder } from '../kit/folder.ts';
import { rpc } from '../kit/mcp.ts';
import { dataOf, makeWorld, onEachEngine, query, send } from '../kit/petstore.ts';

/** The Petstore of a shop. */
const shop = apiWith([Purchase]);
const home = temporaryFolder();

/** The rule of a shop: a purchase of a sold pet is refused, and a complete one sells its pet (docs/adding-a-domain.md). */
onEachEngine(
  'hooks of a record',
  (kit) => {
    let pet: string;
    beforeEach(async () => {
      const { C } = await makeWorld(kit);
      const { id } = await kit.gateway.store
        .table(Pet)
        .insert({ name: 'One', categoryId: C, status: 'available' });
      pet = id;
    });

    const isSold = async (id = pet) => (await kit.gateway.store.table(Pet).byIds([id]))[0]?.status === 'sold';
    const purchases = (petId = pet) => kit.gateway.store.table(Purchase).count({ petId } as never);
    const file = (rows: readonly object[]) => {
      const path = join(home, 'purchases.jsonl');
      writeFileSync(path, rows.map((row) => JSON.stringify(row)).join('\n'));
      return path;
    };
    const createAll =
      'mutation ($input: NewPurchase!) { createPurchase(input: $input) { id pet { status } } }';
    const loading = (rows: readonly object[]) =>
      load(kit.gateway.store, { record: Purchase, file: file(rows), onProgress: () => {} });
    /** Creates a purchase by each way. @returns the error that it meets */
    const doors: Record<string, (complete: boolean, key?: string) => Promise<string | undefined>> = {
      async rest(complete, key) {
        const headers = { ...(key && { 'idempotency-key': key }) };
        const body = { petId: Number(pet), complete };
        const { status, json } = await send(kit.gateway, 'POST /purchases', { body, headers });
        expect([201, 409]).toContain(status);
        return status === 409 ? json.message : undefined;
      },
      async graphql(complete, key) {
        const headers = { ...(key && { 'idempotency-key': key }) };
        const { json } = await query(
          kit.gateway,
          createAll,
          { input: { petId: pet, complete } },
          { headers },
        );
        return json.errors?.[0].message;
      },
      async mcp(complete) {
        const args = { name: 'createPurchase', arguments: { petId: pet, complete } };
        const { result } = (await rpc(kit.gateway, 'tools/call', args)).json;
        return result.isError ? result.content[0].text.replace('CONFLICT: ', '') : undefined;
      },
      load: (complete) =>
        loading([{ petId: Number(pet), complete }]).then(
          () => undefined,
          (error: Error) => /line 1: (?:CONFLICT: )?(.*)/.exec(error.message)![1]!,
        ),
      store: (complete) =>
        kit.gateway.store
          .table(Purchase)
          .insert({ petId: pet, complete })
          .then(
            () => undefined,
            (error: Error) => error.message,
          ),
    };

    it.each(Object.keys(doors))('refuse and write whatever the way of a write: %s', async (door) => {
      const create = doors[door]!;
      expect(await create(false)).toBeUndefined();
      expect(await isSold()).toBe(false);
      const { next } = await kit.gateway.store.eventPage({ after: NOW, limit: 1 });
      expect(await create(true, `${door}-1`)).toBeUndefined();
      expect(await isSold()).toBe(true);
      // Each of the two is an event of the one commit.
      const { events } = await kit.gateway.store.eventPage({ after: next, limit: 100 });
      expect(events.map(({ type }) => type)).toEqual(['purchase.created', 'pet.updated']);
      for (const complete of [false, true])
        expect(await create(complete, `${door}-${complete}`)).toBe(`Pet ${pet} is sold.`);
      expect(await purchases()).toBe(2);
    });

    it('run for each record of a batch, of which each sees what those before it have led to', async () => {
      const { store } = kit.gateway;
      const twice = [{ petId: pet, complete: true }, { petId: pet }];
      await expect(store.table(Purchase).insertAll(twice)).rejects.toThrow(`Pet ${pet} is sold.`);
      const rows = [{ petId: Number(pet) }, { petId: Number(pet), complete: true }, { petId: Number(pet) }];
      await expect(loading(rows)).rejects.toThrow('line 3:');
      expect([await purchases(), await isSold()]).toEqual([0, false]);
      const another = await store.table(Pet).insert({ name: 'Two', categoryId: '1', status: 'available' });
      await store.table(Purchase).insertAll([pet, another.id].map((petId) => ({ petId, complete: true })));
      expect([await isSold(), await isSold(another.id)]).toEqual([true, true]);
    });

    it('belong to the transaction: nothing is left of an operation that is refused later', async () => {
      const complete = `{petId: ${pet}, complete: true}`;
      const open = `{petId: ${pet}}`;
      for (const second of [`createPurchase(input: ${open}) { id }`, 'deletePet(id: 4711)']) {
        const text = `mutation { a: createPurchase(input: ${complete}) { pet { status } } b: ${second} }`;
        for (const headers of [{}, { 'idempotency-key': randomUUID() }]) {
          const { json } = await query(kit.gateway, text, undefined, { headers });
          expect(json.errors[0].path).toEqual(['b']);
          expect([await purchases(), await isSold()]).toEqual([0, false]);
        }
      }
    });

    it('sell a pet once, however many purchases are completed at the same time', async () => {
      const ids = await Promise.all(
        Array.from({ length: 5 }, () => kit.gateway.store.table(Purchase).insert({ petId: pet })),
      );
      const sent = await Promise.all(
        ids.map(({ id }) => send(kit.gateway, `PATCH /purchases/${id}`, { body: { complete: true } })),
      );
      expect(sent.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409]);
      expect(await isSold()).toBe(true);
      // A complete one stays as it is.
      const { id } = ids[sent.findIndex(({ status }) => status === 200)]!;
      expect((await send(kit.gateway, `DELETE /purchases/${id}`)).status).toBe(204);
    });

    it('are described where they refuse, and not part of a single write', async () => {
      const { paths } = (await send(kit.gateway, '/openapi.json')).json;
      const all = paths['/purchases'];
      const one = paths['/purchases/{purchaseId}'];
      for (const operation of [all.post, one.put, one.patch]) {
        expect(operation.description).toContain('Refused while its pet is sold.');
        expect(operation.responses).toHaveProperty('409');
      }
      expect(one.delete.description).not.toContain('sold');
      const { __type } = dataOf(
        await query(kit.gateway, '{ __type(name: "Mutation") { fields { name description } } }'),
      );
      const { description } = __type.fields.find(({ name }: { name: string }) => name === 'createPurchase');
      expect(description).toContain('Refused while its pet is sold.');
      const single = kit.gateway.store.transaction(
        ({ table }) => table(Purchase).insert({ petId: pet }),
        'single',
      );
      await expect(single).rejects.toThrow('Purchase has hooks');
    });
  },
  shop,
);

it('the guide shows the rule as it is', () => {
  const guide = readFileSync(new URL('../../docs/adding-a-domain.md', import.meta.url), 'utf8');
  const [, shown] = /```ts\n(const PET_SOLD[^]*?)\n```/.exec(guide)!;
  const fixture = readFileSync(new URL('../fixtures/shop/purchase.ts', import.meta.url), 'utf8');
  for (const part of shown!.split('\n\n')) expect(fixture).toContain(part);
});

it('hooks do not run for an import', async () => {
  const target = await openSqliteTarget(join(home, 'imported.db'), shop.records);
  await target.addRecords(
    shop.records.find(({ kind }) => kind === 'category')!,
    [{ id: '1', name: 'Dogs' }],
  );
  await target.addRecords(Pet, [{ id: '1', name: 'Rex', categoryId: '1', status: 'available', quantity: 0 }]);
  await target.addRecords(Purchase, [{ id: '1', petId: '1', complete: true }]);
  expect((await target.store.table(Pet).byIds(['1']))[0]?.status).toBe('available');
  await target.close();
});
