import { expect, it } from 'vitest';
import { connectCurrent } from '../../kit/mcp.ts';
import { sqlite, useGateway } from '../../kit/petstore.ts';

const kit = useGateway(sqlite);

it('lets an agent do 20 tasks in sequence with the tools alone', async () => {
  const agent = await connectCurrent(kit.gateway);
  let task = 0;
  // biome-ignore lint/suspicious/noExplicitAny: an agent looks into results as it needs
  const call = async (name: string, args: object = {}): Promise<any> => {
    const { value, error } = await agent.call(name, args);
    expect(error, `task ${task}, ${name}`).toBeUndefined();
    return value;
  };
  const next = () => ++task;

  next(); // Set up two categories.
  const dogs = await call('createCategory', { name: 'Dogs', idempotencyKey: 'dogs' });
  const cats = await call('createCategory', {
    name: 'Cats',
    description: 'They purr',
    idempotencyKey: 'cats',
  });
  next(); // Take in pets.
  const names = ['Rex', 'Ada', 'Tom', 'Mia', 'Leo'];
  const pets = [];
  for (const [i, name] of names.entries())
    pets.push(await call('createPet', { name, categoryId: i < 2 ? dogs.id : cats.id, idempotencyKey: name }));
  next(); // Repeat a creation after a lost answer: one pet.
  expect(await call('createPet', { name: 'Rex', categoryId: dogs.id, idempotencyKey: 'Rex' })).toEqual(
    pets[0],
  );
  next(); // Set the stock of each.
  for (const [i, { id }] of pets.entries()) await call('updateInventory', { petId: id, quantity: i });
  next(); // Restock everything below 3 to 10.
  for (const { petId, quantity } of (await call('listInventory')).items)
    if (quantity < 3) await call('updateInventory', { petId, quantity: 10 });
  expect((await call('listInventory')).items.map((item: { quantity: number }) => item.quantity)).toEqual([
    10, 10, 10, 3, 4,
  ]);
  next(); // Read a list page by page.
  const seen: string[] = [];
  for (let after: string | undefined = '0'; after !== undefined; ) {
    const page: { items: { name: string }[]; after?: string } = await call('listPets', { limit: 2, after });
    seen.push(...page.items.map(({ name }) => name));
    after = page.after;
  }
  expect(seen).toEqual(names);
  next(); // Which cats are available?
  const available = await call('listPets', { categoryId: cats.id, status: ['available'] });
  expect(available.items).toHaveLength(3);
  next(); // Order a pet and reserve it.
  const order = await call('createOrder', { petId: pets[2].id, quantity: 1, idempotencyKey: 'order' });
  await call('updatePet', { petId: pets[2].id, status: 'pending' });
  next(); // A pet that is ordered can't be deleted: the tool says why.
  expect((await agent.call('deletePet', { petId: pets[2].id })).error).toMatch(/^CONFLICT: /);
  next(); // Complete the sale.
  await call('updateOrder', { orderId: order.id, complete: true });
  await call('updatePet', { petId: pets[2].id, status: 'sold' });
  next(); // Cancel an order.
  const mistaken = await call('createOrder', { petId: pets[3].id, quantity: 2 });
  expect(await call('deleteOrder', { orderId: mistaken.id })).toEqual({ id: mistaken.id });
  next(); // Find out that it is gone.
  expect((await agent.call('getOrder', { orderId: mistaken.id })).error).toMatch(/^NOT_FOUND: /);
  next(); // Rename a category and drop its description.
  expect(await call('updateCategory', { categoryId: cats.id, name: 'Felines', description: null })).toEqual({
    id: cats.id,
    name: 'Felines',
  });
  next(); // Everything about a category in one call.
  const query =
    'query ($id: ID!) { category(id: $id) { name pets { nodes { name inventory { quantity } } } } }';
  const { data } = await call('graphql', { query, variables: { id: cats.id } });
  expect(data.category.pets.nodes).toHaveLength(3);
  next(); // Learn the types first.
  expect((await call('schema')).schema).toContain('type Category ');
  next(); // Correct a query by what the error says.
  expect((await agent.call('graphql', { query: '{ pets { items { id } } }' })).error).toContain('items');
  next(); // What happened to pets?
  const log = await call('listEvents', { type: ['pet.created'], limit: 3 });
  expect((await call('listEvents', { type: ['pet.created'], after: log.after })).items).toHaveLength(2);
  next(); // Move a pet to another category.
  expect(await call('updatePet', { petId: pets[1].id, categoryId: cats.id })).toMatchObject({
    categoryId: cats.id,
  });
  next(); // Close down a category that is empty but for one pet.
  expect((await agent.call('deleteCategory', { categoryId: dogs.id })).error).toMatch(/^CONFLICT: /);
  await call('deletePet', { petId: pets[0].id });
  await call('deleteCategory', { categoryId: dogs.id });
  next(); // How much may I still do, and as whom?
  expect((await call('getKey')).plan).toBe('enterprise');
  expect(task).toBe(20);
  await agent.close();
});
