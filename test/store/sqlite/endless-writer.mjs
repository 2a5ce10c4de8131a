import { writeSync } from 'node:fs';
import { Category } from '../../../dist/domains/category/category.js';
import { RECORDS } from '../../../dist/domains/index.js';
import { Order } from '../../../dist/domains/order/order.js';
import { Pet } from '../../../dist/domains/pet/pet.js';
import { openSqliteStore } from '../../../dist/store/sqlite/sqlite-store.js';

/** Writes pets and orders, in transactions and without, until it is killed, and prints the ids of each write once it is acknowledged. */
const store = openSqliteStore({ records: RECORDS, file: process.argv[2], role: 'server' });
const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
for (let i = 0; ; i++) {
  const call = { apiKeyId: 'k', idempotencyKey: `${i}`, fingerprint: 'f', now: Date.now(), keepFor: 60_000 };
  const { value } = await store.once(call, (writes) =>
    writes.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' }),
  );
  const write = async ({ table }) => {
    const order = await table(Order).insert({ petId: value.id, complete: false });
    await new Promise(setImmediate);
    await table(Pet).update(value.id, { quantity: i });
    return order;
  };
  const order = await (i % 2 ? store.transaction(write) : write(store));
  writeSync(1, `${value.id} ${order.id} ${i}\n`);
}
