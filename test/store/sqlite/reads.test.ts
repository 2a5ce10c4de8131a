import { expect, it, vi } from 'vitest';
import { api } from '../../../src/api.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { addSampleData } from '../../../src/sample.ts';
import { SqliteConnection } from '../../../src/store/sqlite/connection.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { useFolder } from './folder.ts';

const folder = useFolder();

it('answers requests that read in the same turn of the event loop each with its own', async () => {
  const store = folder.open();
  await addSampleData(store, api);
  const gateway = await TestGateway.start(store);
  const paths = [
    '/pets/2',
    '/pets/999',
    '/pets?limit=1&after=2',
    '/pets/2',
    '/pets?limit=2',
    '/pets?limit=3',
    '/pets/3',
  ];
  const alone: unknown[] = [];
  for (const path of paths) alone.push((await gateway.call(path)).json);
  for (let n = 0; n < 5; n++) {
    const together = await Promise.all(paths.map((path) => gateway.call(path)));
    expect(together.map(({ json }) => json)).toEqual(alone);
  }
  await gateway.close();
});

it('reads for requests of the same turn together, and alone what fails', async () => {
  const table = folder.open().table(Category);
  const added = await table.insertAll(['Lions', 'Tigers', 'Bears'].map((name) => ({ name })));
  const row = vi.spyOn(SqliteConnection.prototype, 'row');
  const rows = vi.spyOn(SqliteConnection.prototype, 'rows');
  const readAll = () => Promise.allSettled([...added, { id: '8' }].map(({ id }) => table.load!(id)));
  const values = [...added, null].map((value) => ({ status: 'fulfilled', value }));
  expect(await readAll()).toEqual(values);
  expect(rows).toHaveBeenCalledTimes(1);
  const fail = () => {
    throw new Error('cannot read');
  };
  rows.mockImplementationOnce(fail);
  row.mockImplementationOnce(fail);
  const reason = expect.objectContaining({ message: 'cannot read' });
  expect(await readAll()).toEqual([{ status: 'rejected', reason }, ...values.slice(1)]);
  vi.restoreAllMocks();
});

it('what reads while a transaction is open sees what it commits, the first and the others', async () => {
  const store = folder.open();
  const { id } = await store.table(Category).insert({ name: 'Lions' });
  let reads: unknown[] = [];
  await store.transaction(async (transaction) => {
    await transaction.table(Category).update(id, { name: 'Tigers' });
    const table = store.table(Category);
    reads = [table.load!(id), table.load!(id), table.page({}, { limit: 1 })];
    await transaction.table(Category).update(id, { name: 'Bears' });
  });
  const record = { id, name: 'Bears' };
  expect(await Promise.all(reads)).toEqual([record, record, { items: [record], hasMore: false }]);
});
