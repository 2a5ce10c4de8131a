import { describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { useProgram } from '../kit/program.ts';
import { followStream } from './event-source.ts';
import { followPets } from './urql-live-client.ts';

/** Existing clients follow the event log of the built program. */
describe('clients of the event log', () => {
  const kit = useProgram();

  it('lets EventSource follow the stream with its key in a header', async () => {
    const { url, key, store } = kit.gateway;
    const events: string[] = [];
    const received = (count: number) => expect.poll(() => events.length, { timeout: 10_000 }).toBe(count);
    const source = followStream(url, key, (event) => events.push(`${event.type} ${event.data.name}`));
    try {
      await expect.poll(() => source.readyState, { timeout: 10_000 }).toBe(source.OPEN);
      await store.table(Category).insert({ name: 'First' });
      await received(1);
      await store.table(Category).insert({ name: 'Second' });
      await received(2);
    } finally {
      source.close();
    }
    expect(events).toEqual(['category.created First', 'category.created Second']);
  });

  it('lets urql subscribe over server-sent events', async () => {
    const { url, key, store } = kit.gateway;
    const category = await store.table(Category).insert({ name: 'For urql' });
    const { next } = await store.eventPage({ limit: 100 });
    const names: string[] = [];
    const stop = followPets(url, key, next, (name) => names.push(name));
    try {
      for (const name of ['Rex', 'Tom']) {
        await store.table(Pet).insert({ name, categoryId: category.id, status: 'available' });
      }
      await expect.poll(() => names, { timeout: 10_000 }).toEqual(['Rex', 'Tom']);
    } finally {
      stop();
    }
  });
});
