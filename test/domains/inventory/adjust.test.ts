import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { declareRecord } from '../../../src/foundation/declare-record.ts';
import { defaulting, integer } from '../../../src/foundation/fields.ts';
import { MAX_INT32 } from '../../../src/foundation/id.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from '../../kit/folder.ts';
import {
  dataOf,
  expectAnswer,
  expectRefusal,
  makeWorld,
  onEachEngine,
  query,
  send,
} from '../../kit/petstore.ts';

const home = temporaryFolder();

onEachEngine('adjusting the stock', (kit) => {
  const adjust = (id: string, body: unknown, headers: Record<string, string> = {}) =>
    send(kit.gateway, `POST /store/inventory/${id}/adjust`, { body, headers });
  const eventsFrom = async (after: string) =>
    (await send(kit.gateway, `/events?limit=100&after=${after}`)).json as { type: string; data: object }[];
  const endOfLog = async () =>
    /after=([^&>]+)/.exec(String((await send(kit.gateway, '/events?after=now')).headers.link))![1]!;

  it('adds up concurrently over both interfaces, stops at zero, and makes one event each', async () => {
    const { P } = await makeWorld(kit);
    await kit.gateway.store.table(Pet).update(P, { quantity: 100 });
    const after = await endOfLog();
    const sales = Array.from({ length: 200 }, (_, n) =>
      n % 2
        ? adjust(P, { by: -1 }).then(({ status }) => status)
        : query(kit.gateway, `mutation { adjustInventory(petId: ${P}, by: -1) { quantity } }`).then(
            ({ json }) => json.errors?.[0].extensions.status ?? 200,
          ),
    );
    const statuses = await Promise.all(sales);
    const counts = [200, 409].map((status) => statuses.filter((each) => each === status).length);
    expect(counts, String(statuses)).toEqual([100, 100]);
    expectAnswer(await send(kit.gateway, `/store/inventory/${P}`), 200, {
      petId: Number(P),
      quantity: 0,
      status: 'sold',
    });
    await expect.poll(async () => (await eventsFrom(after)).length).toBe(100);
    const events = await eventsFrom(after);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['inventory.updated']));
    expect(events.map(({ data }) => data)).toEqual(
      events.map((_, n) => ({ petId: Number(P), quantity: 99 - n, status: 'sold' })),
    );
  });

  it('answers as any write: with the record, what is refused, conditions and replays', async () => {
    const { P, F } = await makeWorld(kit);
    const item = (quantity: number) => ({ petId: Number(P), quantity, status: 'sold' });
    expectAnswer(await adjust(P, { by: 3 }), 200, item(8));
    expectAnswer(await adjust(P, { by: 0 }), 200, item(8));
    expectRefusal(
      await adjust(P, { by: -9 }),
      'CONFLICT',
      `The quantity of pet ${P} is 8 and cannot change by -9: it is 0 to ${MAX_INT32}.`,
    );
    expectRefusal(await adjust(P, { by: MAX_INT32 }), 'CONFLICT');
    expectAnswer(await adjust(F, { by: MAX_INT32 }), 200);
    expectRefusal(await adjust('9999', { by: 1 }), 'NOT_FOUND');
    for (const body of [{}, { by: null }, { by: 1.5 }, { by: '1' }, { by: MAX_INT32 + 1 }, { by: 1, to: 2 }])
      expectRefusal(
        await adjust(P, body),
        'VALIDATION_FAILED',
        Object.keys(body).includes('to') ? /to/ : /by/,
      );
    const read = await send(kit.gateway, `/store/inventory/${P}`);
    expectAnswer(read, 200, item(8));
    const { etag } = read.headers as { etag: string };
    expectAnswer(await adjust(P, { by: 1 }, { 'if-match': etag }), 200, item(9));
    expectRefusal(await adjust(P, { by: 1 }, { 'if-match': etag }), 'PRECONDITION_FAILED');
    const key = { 'idempotency-key': 'sale' };
    expectAnswer(await adjust(P, { by: -2 }, key), 200, item(7));
    const replay = await adjust(P, { by: -2 }, key);
    expectAnswer(replay, 200, item(7));
    expect(replay.headers['idempotency-replayed']).toBe('true');
    const both = await query(
      kit.gateway,
      `mutation { a: adjustInventory(petId: ${P}, by: -7) { quantity } b: adjustInventory(petId: ${P}, by: 2) { quantity pet { status } } }`,
    );
    expect(dataOf(both)).toEqual({ a: { quantity: 0 }, b: { quantity: 2, pet: { status: 'sold' } } });
    const neither = await query(
      kit.gateway,
      `mutation { a: adjustInventory(petId: ${P}, by: 5) { quantity } b: adjustInventory(petId: ${P}, by: -8) { quantity } }`,
    );
    expect(neither.json.data).toBeNull();
    expectAnswer(await send(kit.gateway, `/store/inventory/${P}`), 200, item(2));
  });

  it('writes events whose texts are exact', async () => {
    const { C } = await makeWorld(kit);
    const name = '= a\u00e9 \ud83d\udc36,"x"';
    const pet = (await send(kit.gateway, 'POST /pets', { body: { name, categoryId: Number(C) } })).json;
    const after = await endOfLog();
    await adjust(String(pet.id), { by: 4 });
    await send(kit.gateway, `PATCH /pets/${pet.id}`, { body: { status: 'sold' } });
    await adjust(String(pet.id), { by: -1 });
    await expect
      .poll(() => eventsFrom(after))
      .toMatchObject([
        { type: 'inventory.updated', data: { petId: pet.id, quantity: 4, status: 'available' } },
        { type: 'pet.updated', data: { ...pet, status: 'sold' } },
        { type: 'inventory.updated', data: { petId: pet.id, quantity: 3, status: 'sold' } },
      ]);
  });
});

it('a difference is checked by the rules over several fields too', async () => {
  const number = (description: string) => integer(0, 9, description, 1);
  const Shelf = declareRecord({
    kind: 'shelf',
    plural: 'shelves',
    type: 'Shelf',
    description: 'A shelf.',
    fields: { held: defaulting(0, number('What it holds')), room: defaulting(5, number('What fits')) },
    rules: ({ held, room }) => (held > room ? [{ path: 'held', message: 'must fit' }] : []),
  });
  const store = openSqliteStore({ records: [Shelf], file: join(home, 'shelf.db'), role: 'server' });
  onTestFinished(async () => {
    await store.close();
  });
  const shelves = store.table(Shelf);
  const { id } = await shelves.insert({});
  expect(await shelves.adjust(id, 'held', 5)).toMatchObject({ held: 5 });
  await expect(shelves.adjust(id, 'held', 1)).rejects.toThrow('held: must fit');
  expect(await shelves.byIds([id])).toMatchObject([{ held: 5 }]);
});
