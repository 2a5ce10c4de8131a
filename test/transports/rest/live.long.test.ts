import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import { cases } from '../../kit/cases.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { onEachEngine, query, send } from '../../kit/petstore.ts';

const WRITERS = 16;

/** The event to expect for an acknowledged write. */
interface Written {
  kind: string;
  record: Record<string, unknown>;
}

onEachEngine('the event log under load', (kit, engine) => {
  const writes = engine.name === 'sqlite' ? cases(6, 40) : cases(2, 8);

  /** Reads the stream until `enough` and to the end of the log, reconnecting at random moments. */
  async function readReconnecting(after: string, enough: () => boolean) {
    const ids: string[] = [];
    const events: Record<string, unknown>[] = [];
    while (!enough() || ids.length === 0 || !(await isAtEnd(ids.at(-1)!))) {
      const client = await EventStreamClient.open(kit.gateway, '/events/stream', {
        headers: { 'last-event-id': ids.at(-1) ?? after },
      });
      await Promise.race([client.until(1 + Math.floor(Math.random() * 60)), sleep(200)]);
      for (const [i, { id }] of client.messages.entries()) {
        ids.push(id!);
        events.push(client.events[i]);
      }
      client.close();
    }
    return { ids, events };
  }

  const isAtEnd = async (id: string) =>
    (await send(kit.gateway, `/events?after=${id}&limit=1`)).json.length === 0;

  it('delivers each acknowledged write of 16 REST and GraphQL writers once, in order per record', async () => {
    const { store } = kit.gateway;
    const category = await store.table(Category).insert({ name: 'Dogs' });
    const link = (await send(kit.gateway, '/events?limit=100')).headers.link as string;
    const after = new URL(/<([^>]*)>/.exec(link)![1]!, kit.gateway.url).searchParams.get('after')!;
    const acknowledged: Written[] = [];
    let done = 0;

    const write = async (writer: number) => {
      const { id } = await store.table(Pet).insert({
        name: `W${writer}`,
        categoryId: category.id,
        status: 'available',
      });
      acknowledged.push({ kind: 'pet.created', record: { id: Number(id), name: `W${writer}` } });
      for (let i = 0; i < writes; i++) {
        const name = `W${writer} ${i}`;
        const response =
          i % 2 === 0
            ? await send(kit.gateway, `PATCH /pets/${id}`, { body: JSON.stringify({ name }) })
            : await query(
                kit.gateway,
                `mutation { updatePet(id: ${id}, input: { name: "${name}" }) { name } }`,
              );
        expect(response.status, response.about).toBe(200);
        acknowledged.push({ kind: 'pet.updated', record: { id: Number(id), name } });
        // Mutations are atomic: the second field fails, so the first must not have an event.
        if (i % 8 === 3) {
          const text = `mutation { a: updatePet(id: ${id}, input: { name: "taken back" }) { id } b: deletePet(id: 404404) }`;
          expect((await query(kit.gateway, text)).json.data).toBeNull();
        }
      }
      done++;
    };
    const writers = Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    const readers = [0, 1, 2].map(() => readReconnecting(after, () => done === WRITERS));
    await writers;
    for (const { ids, events } of await Promise.all(readers)) {
      expect(new Set(ids).size).toBe(ids.length);
      const key = (kind: unknown, id: unknown, name: unknown) => `${kind} ${id} ${name}`;
      const seen = events.map(({ type, data }) =>
        key(type, (data as Written['record']).id, (data as Written['record']).name),
      );
      expect(seen.toSorted()).toEqual(
        acknowledged.map(({ kind, record }) => key(kind, record.id, record.name)).toSorted(),
      );
      for (const pet of new Set(events.map(({ data }) => (data as Written['record']).id))) {
        const names = (from: { id: unknown; name: unknown }[]) =>
          from.filter(({ id }) => id === pet).map(({ name }) => name);
        expect(names(events.map(({ data }) => data as never))).toEqual(
          names(acknowledged.map(({ record }) => record as never)),
        );
      }
    }
  });
});
