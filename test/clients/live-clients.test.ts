import { spawn } from 'node:child_process';
import { print } from 'graphql';
import { createClient } from 'graphql-sse';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { TestGateway } from '../kit/gateway.ts';
import { enginesAtLength, type OpenedStore } from '../kit/stores.ts';
import {
  CategoryWithLatestChangesDocument,
  type CategoryWithLatestChangesQuery,
  type CategoryWithLatestChangesQueryVariables,
} from './documents.generated.ts';
import { followStream } from './event-source.ts';
import { followPets } from './urql-live-client.ts';

/** Existing clients read the event log from two gateways that share a store. */
describe.each(enginesAtLength)('clients of the event log ($name)', (engine) => {
  let opened: OpenedStore;
  let gateways: TestGateway[];

  beforeAll(async () => {
    opened = await engine.open();
    gateways = [await TestGateway.start(opened.store), await TestGateway.start(opened.store)];
  });
  afterAll(async () => {
    for (const gateway of gateways) await gateway.close();
    await opened.close();
  });

  it('lets the graphql-sse client resume a subscription at another gateway', async () => {
    const names: string[] = [];
    let after: string | undefined;
    for (const { url, key } of gateways) {
      const client = createClient({ url: `${url}/graphql`, headers: { 'X-API-Key': key }, retryAttempts: 0 });
      const results = client.iterate<{ events: { id: string; category: { name: string } } }>({
        query: 'subscription ($after: ID) { events(after: $after) { id category { name } } }',
        variables: { after },
      });
      const first = results.next();
      if (after === undefined) while ((await gateways[0]!.metric('event_streams')) === 0);
      await opened.store.table(Category).insert({ name: `At ${names.length}` });
      const { value } = await first;
      names.push(value!.data!.events.category.name);
      after = value!.data!.events.id;
      await opened.store.table(Category).insert({ name: 'Between' });
      client.dispose();
    }
    // The second subscription starts with the record written while no client was connected.
    expect(names).toEqual(['At 0', 'Between']);
  });

  it('lets EventSource follow the stream with its key in a header', async () => {
    const [{ url, key }] = gateways as [TestGateway];
    const events: string[] = [];
    const received = (count: number) => expect.poll(() => events.length, { timeout: 10_000 }).toBe(count);
    const source = followStream(url, key, (event) => events.push(`${event.type} ${event.data.name}`));
    try {
      await expect.poll(() => source.readyState, { timeout: 10_000 }).toBe(source.OPEN);
      await opened.store.table(Category).insert({ name: 'First' });
      await received(1);
      await opened.store.table(Category).insert({ name: 'Second' });
      await received(2);
    } finally {
      source.close();
    }
    expect(events).toEqual(['category.created First', 'category.created Second']);
  });

  it('lets urql subscribe over server-sent events', async () => {
    const [{ url, key }] = gateways as [TestGateway];
    const category = await opened.store.table(Category).insert({ name: 'For urql' });
    const { next } = await opened.store.eventPage({ limit: 100 });
    const names: string[] = [];
    const stop = followPets(url, key, next, (name) => names.push(name));
    try {
      for (const name of ['Rex', 'Tom']) {
        await opened.store.table(Pet).insert({ name, categoryId: category.id, status: 'available' });
      }
      await expect.poll(() => names, { timeout: 10_000 }).toEqual(['Rex', 'Tom']);
    } finally {
      stop();
    }
  });

  it('matches the types that GraphQL Code Generator generates for ids, times and data', async () => {
    const [{ url, key }] = gateways as [TestGateway];
    const made = await opened.store.table(Category).insert({ name: 'Typed' });
    // An id may be sent as a string or a number and is returned as a string.
    const asString: CategoryWithLatestChangesQueryVariables = { id: made.id };
    const asNumber: CategoryWithLatestChangesQueryVariables = { id: Number(made.id) };
    for (const variables of [asString, asNumber]) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
        body: JSON.stringify({ query: print(CategoryWithLatestChangesDocument), variables }),
      });
      const { data }: { data: CategoryWithLatestChangesQuery } = await response.json();
      const id: string | undefined = data.category?.id;
      expect(id).toBe(made.id);
      const last = data.events.nodes.at(-1)!;
      const time: string = last.time;
      expect(Date.parse(time)).not.toBeNaN();
      const changed: unknown = last.data;
      expect(changed).toEqual({ id: Number(made.id), name: 'Typed' });
    }
  });

  it('lets curl follow the stream from Last-Event-ID on', async () => {
    const [{ url, key }] = gateways as [TestGateway];
    const { next } = await opened.store.eventPage({ limit: 100 });
    await opened.store.table(Category).insert({ name: 'For curl' });
    const headers = ['-H', `X-API-Key: ${key}`, '-H', `Last-Event-ID: ${next}`];
    const curl = spawn('curl', ['-sN', ...headers, `${url}/events/stream`]);
    let text = '';
    for await (const chunk of curl.stdout.setEncoding('utf8')) {
      text += chunk;
      if (text.includes('"type":"category.created"')) break;
    }
    curl.kill();
    expect(text).toContain('"name":"For curl"');
  });
});
