import { writeSync } from 'node:fs';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';

/** Writes pets and orders until it is killed, and prints the ids of each write once it is acknowledged. */
const store = openSqliteStore({ file: process.argv[2]!, role: 'server' });
const { id: categoryId } = await store.createCategory({ name: 'Dogs' });
for (let i = 0; ; i++) {
  const call = { apiKeyId: 'k', idempotencyKey: `${i}`, fingerprint: 'f', now: Date.now(), keepFor: 60_000 };
  const { value } = await store.once(call, (writes) =>
    writes.createPet({ name: 'Rex', categoryId, status: 'sold' }),
  );
  const order = await store.createOrder({ petId: value!.id, complete: false });
  await store.updatePet(value!.id, { quantity: i });
  writeSync(1, `${value!.id} ${order.id} ${i}\n`);
}
