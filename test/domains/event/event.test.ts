import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import {
  dataOf,
  exactly,
  expectAnswer,
  expectQueryRefusal,
  expectRefusal,
  makeWorld,
  onAnyEngine,
  query,
  send,
} from '../../kit/petstore.ts';

const LARGEST = '9223372036854775807';
const nextOf = (link: unknown) => /^<([^>]*)>; rel="next"$/.exec(String(link))?.[1];

onAnyEngine('the event log', (kit, engine) => {
  const get = (path: string) => send(kit.gateway, path);

  /** Follows `Link: rel="next"` until a page is empty. */
  async function drain(path: string): Promise<{ events: Record<string, unknown>[]; next: string }> {
    const events: Record<string, unknown>[] = [];
    for (let next = path; ;) {
      const page = await get(next);
      expect(page.status, page.about).toBe(200);
      next = nextOf(page.headers.link)!;
      expect(next, page.about).toBeDefined();
      if (page.json.length === 0) return { events, next };
      events.push(...page.json);
    }
  }

  it('lists the same events over REST and GraphQL, and every REST page links to the next', async () => {
    const { next: start } = await drain('/events?limit=100');
    const { C, P } = await makeWorld(kit);
    await kit.gateway.store.table(Pet).update(P, { name: 'Max' });
    const { events, next } = await drain(start.replace('limit=100', 'limit=3'));
    expect(events.map(({ type }) => type)).toEqual([
      'category.created',
      'category.created',
      'pet.created',
      'inventory.updated',
      'pet.created',
      'order.created',
      'order.created',
      'pet.updated',
    ]);
    const [created] = events;
    expect(Object.keys(created!)).toEqual(['id', 'type', 'time', 'data']);
    expect(created!.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/);
    expect(created!.data).toEqual({ id: Number(C), name: 'Dogs', description: 'They bark' });
    expect(events[3]!.data).toEqual({ petId: Number(P), quantity: 5, status: 'sold' });
    expect(events[7]!.data).toEqual({ id: Number(P), name: 'Max', categoryId: Number(C), status: 'sold' });
    await kit.gateway.store.table(Order).remove((events[5]!.data as { id: string }).id.toString());
    expect((await drain(next)).events).toMatchObject([
      { type: 'order.deleted', data: { id: expect.any(Number) } },
    ]);

    const after = new URLSearchParams(start.split('?')[1]).get('after');
    const list = `query ($after: ID, $first: Int) { events(after: $after, first: $first) {
      edges { cursor node { id type time data } } nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage }
    } }`;
    const page = dataOf(await query(kit.gateway, list, { after, first: 8 })).events;
    expect(
      page.edges.map(({ node }: { node: { type: string } }) => ({
        ...node,
        type: node.type.replace('_', '.'),
      })),
    ).toEqual(events);
    expect(page.nodes.map(({ id }: { id: string }) => id)).toEqual(events.map(({ id }) => id));
    expect(page.pageInfo).toMatchObject({
      startCursor: events[0]!.id,
      endCursor: events[7]!.id,
      hasPreviousPage: false,
    });
    const rest = dataOf(
      await query(kit.gateway, list, { after: page.pageInfo.endCursor, first: 100 }),
    ).events;
    expect(rest.nodes).toHaveLength(1);
    expect(rest.pageInfo.hasNextPage).toBe(false);
  });

  it('resolves the record of each event to its current state, or to null once deleted', async () => {
    const { next } = await drain('/events?limit=100');
    const after = new URLSearchParams(next.split('?')[1]).get('after');
    const { P, O, E, F } = await makeWorld(kit);
    const { store } = kit.gateway;
    await store.table(Pet).update(P, { name: 'Max' });
    await store.table(Pet).remove(F);
    const list = `query ($after: ID) { events(after: $after, first: 100) { nodes {
      type pet { name } category { id } order { id pet { id } } inventoryItem { quantity }
    } } }`;
    // The first run is interpreted, later ones are compiled.
    for (let i = 0; i < 3; i++) {
      const { nodes } = dataOf(await query(kit.gateway, list, { after })).events;
      const none = { pet: null, category: null, order: null, inventoryItem: null };
      expect(nodes[1]).toEqual({ ...none, type: 'category_created', category: { id: E } });
      expect(nodes[2]).toEqual({ ...none, type: 'pet_created', pet: { name: 'Max' } });
      expect(nodes[3]).toEqual({ ...none, type: 'inventory_updated', inventoryItem: { quantity: 5 } });
      expect(nodes[4]).toEqual({ ...none, type: 'pet_created' });
      expect(nodes[5]).toEqual({ ...none, type: 'order_created', order: { id: O, pet: { id: P } } });
      expect(nodes[8]).toEqual({ ...none, type: 'pet_deleted' });
    }
  });

  it('keeps ids beyond 2^53 exact', async () => {
    const { next } = await drain('/events?limit=100');
    await kit.gateway.store.table(Order).insert({ id: LARGEST, complete: true });
    const reply = await get(next);
    expect(exactly(reply.text)).toMatchObject([{ data: { id: `#${LARGEST}`, complete: true } }]);
    const after = new URLSearchParams(next.split('?')[1]).get('after');
    for (let i = 0; i < 3; i++) {
      const sent = await query(
        kit.gateway,
        'query ($after: ID!) { events(after: $after) { nodes { data } } }',
        { after },
      );
      expect(exactly(sent.text)).toMatchObject({
        data: { events: { nodes: [{ data: { id: `#${LARGEST}` } }] } },
      });
    }
  });

  it.each([
    ['type=pet.sold', /^type: must be one of pet\.created, /],
    ['type=pet_created', /^type: /],
    ['type=', /^type: /],
    ['after=', /^after: /],
    ['after=0', /^after: must be the id of an event/],
    ['after=x', /^after: must be the id of an event/],
    ['after=x&sort=-id', /^after: must be the id of an event/],
    ['after=a&after=b', /^after: must not be repeated/],
    ['limit=0', /^limit: /],
    ['limit=101', /^limit: /],
    ['type=pet.deleted&type=pet.created&type=pet.deleted', /^type: must not have a value twice\.$/],
    ['wait=0', /^wait: must be an integer from 1 to 25/],
    ['wait=26', /^wait: /],
    ['wait=1.5', /^wait: /],
    ['since=1', /^since: is not a known/],
    ['after=&limit=0', /^after: must be the id of an event; limit: /],
  ])('refuses ?%s and names the invalid parameter', async (parameters, message) => {
    expectRefusal(await get(`/events?${parameters}`), 'VALIDATION_FAILED', message);
  });

  it.each([
    ['events(types: [pet_sold]) { nodes { id } }', 'GRAPHQL_VALIDATION_FAILED'],
    ['events(first: 0) { nodes { id } }', 'first: must be an integer from 1 to 100.'],
    ['events(after: "x") { nodes { id } }', 'after: must be the id of an event of this log.'],
    ['events(last: 1, before: "x") { nodes { id } }', 'before: must be the id of an event of this log.'],
    ['events(types: []) { nodes { id } }', 'types: must have at least one value.'],
    ['events(types: [pet_created, pet_created]) { nodes { id } }', 'types: must not have a value twice.'],
  ] as const)('refuses { %s }', async (field, expected) => {
    const sent = await query(kit.gateway, `{ ${field} }`);
    if (expected === 'GRAPHQL_VALIDATION_FAILED') expectQueryRefusal(sent, expected);
    else expectQueryRefusal(sent, 'VALIDATION_FAILED', expected);
  });

  it('lets others in between the pages of many aliases', async () => {
    // On MongoDB each page takes longer than the other request.
    const count = engine.name === 'sqlite' ? 50 : 5;
    const fields = Array.from({ length: count }, (_, i) => `a${i}: events(first: 1) { nodes { id } }`);
    const order: string[] = [];
    await Promise.all([
      query(kit.gateway, `{ ${fields.join(' ')} }`).then((sent) =>
        order.push(typeof dataOf(sent)[`a${count - 1}`]),
      ),
      get('/pets').then(({ status }) => order.push(`pets ${status}`)),
    ]);
    expect(order).toEqual(['pets 200', 'object']);
  });

  describe('with wait', () => {
    const endOf = async () => (await drain('/events?limit=100')).next;
    const poll = (path: string, key = kit.gateway.key) => send(kit.gateway, path, { key });

    it('answers at once if there are events, otherwise with the first that come', async () => {
      const begin = await endOf();
      const waiting = [poll(`${begin}&wait=25`), poll(`${begin}&type=category.created&wait=25`)];
      const none = poll(`${begin}&type=order.deleted&wait=1`);
      const { id } = await kit.gateway.store.table(Category).insert({ name: 'Awaited' });
      const [event] = (await get(begin)).json;
      expect(event.data).toEqual({ id: Number(id), name: 'Awaited' });
      for (const sent of await Promise.all(waiting)) {
        expectAnswer(sent, 200, [event]);
        expect(sent.headers.link).toMatch(/wait=25.*rel="next"/);
      }
      const sent = await poll(`${begin}&wait=25`, await kit.gateway.newKey('free'));
      expectAnswer(sent, 200, [event]);
      expect(sent.headers['x-ratelimit-remaining']).toBe('59');
      const empty = await none;
      expectAnswer(empty, 200, []);
      expect(empty.headers.link).toMatch(/after=.*rel="next"/);
      await kit.gateway.store.table(Category).remove(id);
      const next = /<(.*)>/.exec(empty.headers.link as string)![1]!;
      expectAnswer(await poll(next.replace('order.deleted', 'category.deleted')), 200);
    });

    it('counts as an open stream, and ends with its client and its server', async () => {
      const { TestGateway } = await import('../../kit/gateway.ts');
      const other = await TestGateway.start(kit.gateway.store, {}, kit.clock);
      const begin = await endOf();
      const key = await other.newKey('free');
      const waiting = send(other, `${begin}&wait=25`, { key });
      const gone = httpRequest(`${other.url}${begin}&wait=25`, { headers: { 'x-api-key': key } });
      gone.on('error', () => {}).end();
      const open = () => other.metric('event_streams');
      await expect.poll(open).toBe(2);
      const third = () => send(other, `${begin}&wait=1`, { key });
      expectRefusal(await third(), 'RATE_LIMITED');
      gone.destroy();
      await expect.poll(open).toBe(1);
      expectAnswer(await third(), 200);
      other.endStreams();
      const sent = await waiting;
      expectAnswer(sent, 200, []);
      expectRefusal(await third(), 'UNAVAILABLE');
      await other.close();
    });
  });

  it('charges one unit for a page of up to 100 events, over REST and GraphQL', async () => {
    const key = await kit.gateway.newKey('free');
    await send(kit.gateway, '/events?limit=100', { key });
    const sent = await query(kit.gateway, '{ events(first: 100) { nodes { id type time } } }', {}, { key });
    expect(sent.headers['x-ratelimit-remaining']).toBe('58');
    expectAnswer(await send(kit.gateway, 'HEAD /events', { key }), 200);
  });
});
