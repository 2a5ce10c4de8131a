import { writeSync } from 'node:fs';
import { Category } from '../../../src/domains/category/category.ts';
import { RECORDS } from '../../../src/domains/index.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Transaction } from '../../../src/store/store.ts';

/** Writes pets and orders, in transactions and without, until it is killed, and prints the ids of each write once it is acknowledged. */
const store = openSqliteStore({ records: RECORDS, file: process.argv[2]!, role: 'server' });
const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
for (let i = 0; ; i++) {
  const call = { apiKeyId: 'k', idempotencyKey: `${i}`, fingerprint: 'f', now: Date.now(), keepFor: 60_000 };
  const { value } = await store.once(call, (writes) =>
    writes.table(Pet).insert({ name: 'Rex', categoryId, status: 'sold' }),
  );
  const { id: petId } = value!;
  const write = async ({ table }: Transaction) => {
    const order = await table(Order).insert({ petId, complete: false });
    await new Promise(setImmediate);
    await table(Pet).update(petId, { quantity: i });
    return order;
  };
  const order = await (i % 2 ? store.transaction(write) : write(store));
  writeSync(1, `${petId} ${order.id} ${i}\n`);
}
