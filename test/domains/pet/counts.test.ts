import { expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet, PetStatus } from '../../../src/domains/pet/pet.ts';
import { MAX_GROUPS } from '../../../src/foundation/meter.ts';
import { rpc } from '../../kit/mcp.ts';
import { expectAnswer, expectRefusal, onEachEngine, query, send } from '../../kit/petstore.ts';

onEachEngine('counts', (kit) => {
  it('are of the groups that there are, over every interface', async () => {
    const { gateway } = kit;
    const categories: string[] = [];
    for (const name of ['Dogs', 'Cats', 'None'])
      categories.push((await gateway.store.table(Category).insert({ name })).id);
    const [dogs, cats] = categories as [string, string];
    const add = (name: string, categoryId: string, status: PetStatus) =>
      gateway.store.table(Pet).insert({ name, categoryId, status });
    const rex = await add('Rex', dogs, 'sold');
    for (const name of ['Bella', 'Bo']) await add(name, dogs, 'available');
    await add('Mimi', cats, 'sold');
    for (const complete of [true, false, true]) await gateway.store.table(Order).insert({ complete });

    const counts = async (path: string) => {
      const answer = await send(gateway, path);
      expectAnswer(answer, 200);
      return answer.json;
    };
    expect(await counts('/pets/counts?by=status')).toEqual([
      { status: 'available', count: 2 },
      { status: 'sold', count: 2 },
    ]);
    expect(await counts('/pets/counts?by=categoryId&by=status&by=status&status=sold&status=pending')).toEqual(
      [
        { categoryId: Number(dogs), status: 'sold', count: 1 },
        { categoryId: Number(cats), status: 'sold', count: 1 },
      ],
    );
    expect(await counts('/pets/counts?by=categoryId&name=b')).toEqual([
      { categoryId: Number(dogs), count: 2 },
    ]);
    expect(await counts(`/pets/counts?by=status&categoryId=${categories[2]}`)).toEqual([]);
    expect(await counts('/store/orders/counts?by=complete')).toEqual([
      { complete: false, count: 1 },
      { complete: true, count: 2 },
    ]);
    const tool = await rpc(gateway, 'tools/call', { name: 'countPets', arguments: { by: ['status'] } });
    expect(JSON.parse(tool.json.result.content[0].text).items).toHaveLength(2);
    await gateway.store.table(Pet).update(rex.id, { status: 'pending', categoryId: cats });
    const { json } = await query(
      gateway,
      `{ petCounts(by: [categoryId], filter: { status: [sold, pending] }) { count status categoryId category { name } }
         orderCounts(by: [complete], filter: { complete: true }) { complete count } }`,
    );
    expect(json.data).toEqual({
      petCounts: [{ count: 2, status: null, categoryId: cats, category: { name: 'Cats' } }],
      orderCounts: [{ complete: true, count: 2 }],
    });
  });

  it('are priced by the groups that there can be, and one unit over REST', async () => {
    const price = async (text: string) => {
      const { json } = await query(kit.gateway, `{ ${text} }`, undefined, {
        headers: { 'x-ratelimit-extension': 'on' },
      });
      return json.extensions.rateLimit.cost;
    };
    expect(await price('petCounts(by: [status]) { count }')).toBe(1);
    expect(await price('petCounts(by: [categoryId]) { count }')).toBe(10);
    expect(await price('petCounts(by: [categoryId, status]) { count }')).toBe(10);
    expect(await price('petCounts(by: [categoryId, status], filter: { categoryId: 1 }) { count }')).toBe(1);
  });

  it.each([
    ['/pets/counts', 'by: is required.'],
    ['/pets/counts?by=name', 'by: must be one of status, categoryId.'],
    ['/store/orders/counts?by=petId', 'by: must be one of complete.'],
    [
      '/pets/counts?by=status&limit=1',
      'limit: is not a known query parameter (known: by, status, categoryId, name).',
    ],
  ])('are refused: %s', async (path, message) => {
    const answer = await send(kit.gateway, path);
    expectRefusal(answer, 'VALIDATION_FAILED');
    expect(answer.json.message).toBe(message);
  });

  it('are refused by nothing, and beyond the most groups', async () => {
    const none = await query(kit.gateway, '{ petCounts(by: []) { count } }');
    expect(none.json.errors[0].message).toBe('by: must name at least one field.');
    // A thousand categories that are locked take long on a stand-in for MongoDB; the bound is above the engines.
    if (kit.gateway.store.engine === 'mongodb') return;
    const pets = kit.gateway.store.table(Pet);
    const names = Array.from({ length: MAX_GROUPS + 1 }, (_, n) => ({ name: `${n}` }));
    const many = await kit.gateway.store.table(Category).insertAll(names);
    for (let n = 0; n < many.length; n += 100)
      await pets.insertAll(many.slice(n, n + 100).map(({ id }) => ({ name: 'Rex', categoryId: id })));
    expectRefusal(await send(kit.gateway, '/pets/counts?by=categoryId'), 'QUERY_TOO_COMPLEX');
    expectAnswer(await send(kit.gateway, '/pets/counts?by=status'), 200);
  });

  it('are of one moment while pets change their status', async () => {
    const { id: categoryId } = await kit.gateway.store.table(Category).insert({ name: 'Moving' });
    const pets = kit.gateway.store.table(Pet);
    const all = await pets.insertAll(Array.from({ length: 20 }, () => ({ name: 'Rex', categoryId })));
    const moving = all.flatMap(({ id }) => PetStatus.values.map((status) => pets.update(id, { status })));
    for (let n = 0; n < 10; n++) {
      const { json } = await send(kit.gateway, `/pets/counts?by=status&categoryId=${categoryId}`);
      expect(json.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(20);
    }
    await Promise.all(moving);
  });
});
