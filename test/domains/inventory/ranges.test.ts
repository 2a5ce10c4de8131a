import { expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { rpc } from '../../kit/mcp.ts';
import { expectAnswer, expectRefusal, onEachEngine, query, send } from '../../kit/petstore.ts';

onEachEngine('ranges of lists', (kit) => {
  it('are those of an order, over every interface', async () => {
    const { gateway } = kit;
    const { id: categoryId } = await gateway.store.table(Category).insert({ name: 'Dogs' });
    const pets: string[] = [];
    for (const quantity of [7, 5, 0, 5, 6]) {
      const { id } = await gateway.store.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' });
      await gateway.store.table(Pet).update(id, { quantity });
      pets.push(id);
    }
    const orders = [];
    for (const shipDate of [
      '2026-03-01T00:00:00Z',
      undefined,
      '2026-01-01T00:00:00Z',
      '2026-02-01T00:00:00Z',
    ])
      orders.push((await gateway.store.table(Order).insert({ petId: pets[0], shipDate })).id);

    const stock = async (parameters: string) => {
      const answer = await send(gateway, `/store/inventory?${parameters}`);
      expectAnswer(answer, 200);
      return answer.json.map(({ petId }: { petId: number }) => pets.indexOf(String(petId)));
    };
    // What is running out.
    expect(await stock('quantityMax=5')).toEqual([2, 1, 3]);
    expect(await stock('quantityMin=5&quantityMax=6&sort=-quantity')).toEqual([4, 3, 1]);
    expect(await stock('quantityMin=6&status=sold')).toEqual([4, 0]);
    expect(await stock('quantityMin=6&quantityMax=5')).toEqual([]);
    const first = await send(gateway, '/store/inventory?quantityMax=5&limit=2');
    const next = /<([^>]+)>/.exec(String(first.headers.link))![1]!;
    expect(next).toContain('quantityMax=5');
    expect((await send(gateway, next)).json.map(({ petId }: { petId: number }) => petId)).toEqual([
      Number(pets[3]),
    ]);
    const exported = await send(gateway, '/store/inventory?quantityMin=6', {
      headers: { accept: 'application/x-ndjson' },
    });
    expect(
      exported.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).quantity),
    ).toEqual([6, 7]);
    const tool = await rpc(gateway, 'tools/call', { name: 'listInventory', arguments: { quantityMax: 0 } });
    expect(JSON.parse(tool.json.result.content[0].text).items).toMatchObject([{ petId: pets[2] }]);

    const within = 'shipDateMin=2026-01-01T01:00:00%2B01:00&shipDateMax=2026-02-28T23:59:59.999Z';
    const shipped = await send(gateway, `/store/orders?${within}&sort=-shipDate&complete=false`);
    expect(shipped.json.map(({ id }: { id: number }) => String(id))).toEqual([orders[3], orders[2]]);
    const { json } = await query(
      gateway,
      `query ($range: DateTimeRange, $none: IntRange) {
        orders(filter: { shipDate: $range }) { totalCount nodes { id } }
        inventory(filter: { quantity: $none }, last: 1) { totalCount nodes { petId } }
        pet(id: "${pets[0]}") { orders(filter: { shipDate: { max: "2026-01-31T00:00:00Z" } }) { totalCount nodes { id } } }
      }`,
      { range: { min: '2026-02-01T00:00:00Z', max: null }, none: { min: null } },
    );
    expect(json.data).toEqual({
      orders: { totalCount: 2, nodes: [{ id: orders[3] }, { id: orders[0] }] },
      inventory: { totalCount: 5, nodes: [{ petId: pets.at(-1) }] },
      pet: { orders: { totalCount: 1, nodes: [{ id: orders[2] }] } },
    });
  });

  it('begin with the first instant of year 1, as records do', async () => {
    const first = '0001-01-01T00:00:00Z';
    const body = { shipDate: first };
    const { id } = (await send(kit.gateway, 'POST /store/orders', { body })).json;
    const range = `shipDateMin=${first}&shipDateMax=${first}`;
    expect((await send(kit.gateway, `/store/orders?${range}`)).json).toMatchObject([{ id, shipDate: first }]);
    const earlier = '0000-12-31T23:59:59.999Z';
    expectRefusal(
      await send(kit.gateway, 'POST /store/orders', { body: { shipDate: earlier } }),
      'VALIDATION_FAILED',
    );
    expectRefusal(await send(kit.gateway, `/store/orders?shipDateMin=${earlier}`), 'VALIDATION_FAILED');
    const { json } = await query(
      kit.gateway,
      `mutation { createOrder(input: { shipDate: "${earlier}" }) { id } }`,
    );
    expect(json.errors[0]).toMatchObject({ extensions: { code: 'VALIDATION_FAILED' } });
  });

  it.each([
    [
      '/store/inventory?quantityMax=5&sort=id',
      'sort: must be by quantity when the list is filtered by quantity.',
    ],
    [
      '/store/orders?shipDateMin=2026-01-01',
      'shipDateMin: must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z.',
    ],
    ['/store/inventory?quantityMin=-1', 'quantityMin: must be an integer from 0 to 2147483647.'],
    ['/store/inventory?quantityMin=1&quantityMin=2', 'quantityMin: must not be repeated.'],
  ])('that are none are refused: %s', async (path, message) => {
    const answer = await send(kit.gateway, path);
    expectRefusal(answer, 'VALIDATION_FAILED');
    expect(answer.json.message).toBe(message);
  });

  it.each([
    ['inventory(filter: { quantity: { min: 1 } }, sort: id_desc)', 'sort: must be by quantity'],
    ['inventory(filter: { quantity: { max: -1 } })', 'quantity.max: must be an integer from 0'],
    ['orders(filter: { shipDate: { min: "x" } })', 'shipDate.min: must be an RFC 3339 date-time'],
  ])('that are none are refused over GraphQL: %s', async (list, message) => {
    const { json } = await query(kit.gateway, `{ ${list} { nodes { id } } }`);
    expect(json.errors[0]).toMatchObject({ extensions: { code: 'VALIDATION_FAILED' } });
    expect(json.errors[0].message).toContain(message);
  });
});
