import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { api } from '../../src/api.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import type { EventType, StoredEvent } from '../../src/store/events.ts';
import type { Store } from '../../src/store/store.ts';
import { codeOf } from '../kit/errors.ts';
import { endOfLog, engines, type OpenedStore } from '../kit/stores.ts';

/** All events after a position, read in pages of `limit`. */
async function readAll(store: Store, after: string, limit = 100): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let position = after; ;) {
    const page = await store.eventPage({ after: position, limit });
    events.push(...page.events);
    if (page.atEnd) return events;
    position = page.next;
  }
}

/** Follows the log until it has told of so many events, and nothing for a while. */
async function follow(store: Store, after: string, count: number): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for await (const page of store.followEvents(after)) {
    events.push(...page.events);
    if (events.length >= count && page.events.length === 0 && page.atEnd) break;
  }
  return events;
}

const typesAndRecords = (events: readonly StoredEvent[]) =>
  events.map(({ type, record }) => ({ type, record }));

describe.each(engines)('the event log ($name)', (engine) => {
  let opened: OpenedStore;
  let store: Store;
  let first: Category;

  beforeAll(async () => {
    opened = await engine.open();
    store = opened.store;
    first = await store.table(Category).insert({ name: 'First' });
  });
  afterAll(() => opened.close());

  it('returns pages without gaps or overlaps from any position, also after a restart', async () => {
    const start = await endOfLog(store);
    const before = Date.now();
    for (let i = 0; i < 7; i++) await store.table(Category).insert({ name: `Page ${i}` });
    const all = await readAll(store, start);
    expect(all).toHaveLength(7);
    // MongoDB uses the clock of its server.
    expect(Math.abs(all[0]!.time - before)).toBeLessThan(2_000);
    expect(new Set(all.map(({ id }) => id)).size).toBe(7);
    expect(await readAll(store, start, 3)).toEqual(all);
    store = await opened.reopen();
    for (const [i, { id }] of all.entries()) expect(await readAll(store, id, 2)).toEqual(all.slice(i + 1));
    expect(await store.eventPage({ after: all[6]!.id, limit: 5 })).toMatchObject({ events: [], atEnd: true });
  });

  it('filters by event types', async () => {
    const start = await endOfLog(store);
    const dogs = await store.table(Category).insert({ name: 'Dogs' });
    const rex = await store.table(Pet).insert({ name: 'Rex', categoryId: dogs.id, status: 'available' });
    await store.table(Pet).update(rex.id, { quantity: 1 });
    await store.table(Pet).update(rex.id, { name: 'Max' });
    const of = async (...types: EventType[]) =>
      (await store.eventPage({ after: start, types, limit: 100 })).events.map(({ type }) => type);
    expect(await of('inventory.updated')).toEqual(['inventory.updated']);
    expect(await of('pet.updated')).toEqual(['pet.updated']);
    expect(await of('pet.created', 'category.created')).toEqual(['category.created', 'pet.created']);
    expect(await of('order.deleted')).toEqual([]);
    const all = await readAll(store, start);
    expect(await of(...api.eventTypes.names)).toEqual(all.map(({ type }) => type));
  });

  it('starts at the oldest event each time without a position', async () => {
    for (const name of ['Second', 'Third']) await store.table(Category).insert({ name });
    const { events } = await store.eventPage({ limit: 1 });
    expect(typesAndRecords(events)).toEqual([{ type: 'category.created', record: first }]);
    expect(await store.eventPage({ limit: 1 })).toMatchObject({ events });
  });

  it('refuses what is no position, and on SQLite one after its end', async () => {
    const end = await endOfLog(store);
    const later = end.replace(/\d+$/, (digits) => String(Number(digits) + 1));
    const wrong = ['', 'x', '0', '-1', 'deadbeef-1', '82', '\0', `${'f'.repeat(8)}-0`, 'zz'.repeat(40)];
    for (const after of [...wrong, '0'.repeat(100), ...(engine.name === 'sqlite' ? [later] : [])])
      expect(await codeOf(() => store.eventPage({ after, limit: 1 })), after).toBe('VALIDATION_FAILED');
    const backward = { limit: 1, backward: true, before: 'x' };
    expect(await codeOf(() => store.eventPage(backward))).toBe('VALIDATION_FAILED');
    expect(await codeOf(() => store.eventPage({ after: end, limit: 1 }))).toBeUndefined();
  });

  it('reads backward, page by page, what it reads forward', async () => {
    const start = await endOfLog(store);
    for (let n = 0; n < 7; n++) {
      const { id } = await store.table(Category).insert({ name: `Backward ${n}` });
      if (n % 3 === 0) await store.table(Category).remove(id);
    }
    const all = await readAll(store, start);
    for (const [limit, types] of [
      [4, undefined],
      [2, ['category.deleted']],
    ] as [number, EventType[] | undefined][]) {
      const expected = types ? all.filter(({ type }) => types.includes(type)) : all;
      const events: StoredEvent[] = [];
      for (let before: string | undefined; events.length < expected.length;) {
        const page = await store.eventPage({
          limit,
          backward: true,
          ...(before && { before }),
          ...(types && { types }),
        });
        expect(page.events.length).toBeLessThanOrEqual(limit);
        events.unshift(...page.events);
        before = page.next;
      }
      expect(events.slice(-expected.length)).toEqual(expected);
    }
  });

  it('reaches the beginning backward', async () => {
    const oldest = (await store.eventPage({ limit: 1 })).events[0]!;
    let page = await store.eventPage({ limit: 100, backward: true });
    while (!page.atEnd) page = await store.eventPage({ limit: 100, backward: true, before: page.next });
    expect(page.events[0]).toEqual(oldest);
  });

  it('tells who follows it every commit after a position, as pages list it', async () => {
    const start = await endOfLog(store);
    const followed = [follow(store, start, 22), follow(store, start, 22)];
    const dogs = await store.table(Category).insert({ name: 'Dogs' });
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        store.table(Pet).insert({ name: `Pet ${i}`, categoryId: dogs.id, status: 'available' }),
      ),
    );
    await store.table(Category).insert({ name: 'Last' });
    const all = await readAll(store, start);
    expect(all).toHaveLength(22);
    expect(await Promise.all(followed)).toEqual([all, all]);
    expect(await follow(store, all[9]!.id, 12)).toEqual(all.slice(10));
    // Whoever has read pages to their end can go on with what it tells.
    for (const types of [undefined, ['pet.deleted']] as const)
      expect(await store.eventPage({ after: start, limit: 100, ...(types && { types }) })).toMatchObject({
        next: all.at(-1)!.id,
      });
  });
});
