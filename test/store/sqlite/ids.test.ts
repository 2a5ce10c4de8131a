import { expect, it, vi } from 'vitest';
import { Order } from '../../../src/domains/order/order.ts';
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();

it('behind 30,000 chosen ids, the first free one is found by a hundred look-ups', async () => {
  const store = folder.open();
  const run = (first: string, length: number) =>
    folder.outsider()
      .exec(`insert into orders (id, complete) with recursive n (n) as (select 0 union all select n + 1 from n
      where n + 1 < ${length}) select ${first} + n, 0 from n`);
  run('1', 30_000);
  const lookups = vi.spyOn(SqliteConnection.prototype, 'row');
  expect((await store.table(Order).insert({})).id).toBe('30001');
  expect(lookups.mock.calls.length).toBeLessThan(100);
  // A gap that the search meets is as good as the first; the largest id is no end of it.
  run('30002', 61);
  run('30100', 40);
  run('9223372036854775708', 100);
  const { id } = await store.table(Order).insert({});
  expect(lookups.mock.calls.length).toBeLessThan(300);
  lookups.mockRestore();
  expect(['30063', '30140']).toContain(id);
});

it('assigned ids pass those that were chosen in the same transaction, or by another process before it', async () => {
  const store = folder.open();
  const added = await store.transaction(async (transaction) => {
    const orders = transaction.table(Order);
    return [await orders.insert({}), await orders.insert({ id: '2' }), await orders.insert({})];
  });
  expect(added).toMatchObject([{ id: '1' }, { id: '2' }, { id: '3' }]);
  folder.outsider().exec('insert into orders (id, complete) values (4, 0)');
  expect(
    await Promise.all([{}, { id: '6' }, {}].map((input) => store.table(Order).insert(input))),
  ).toMatchObject([{ id: '5' }, { id: '6' }, { id: '7' }]);
});
