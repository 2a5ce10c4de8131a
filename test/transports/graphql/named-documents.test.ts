import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unavailable } from '../../../src/foundation/errors.ts';
import { hashOf, NamedDocuments } from '../../../src/graphql/named-documents.ts';
import { failing } from '../../kit/failing.ts';
import { TestGateway } from '../../kit/gateway.ts';
import {
  dataOf,
  expectQueryRefusal,
  onEachEngine,
  type Sent,
  send,
  sqlite,
  useGateway,
} from '../../kit/petstore.ts';

const PETS = 'query Pets { pets(first: 1) { totalCount } }';
const CREATE = 'mutation Create { createCategory(input: {name: "made"}) { id } }';
const WATCH = 'subscription Watch { events { id } }';
const OTHER = 'query Orders { orders(first: 1) { totalCount } }';
const NONE = 'The API key may only run the documents of its list, and this is none of them.';

const documentOf = (list: string, id: string, text: string) => ({
  list,
  id,
  text,
  hash: hashOf(text),
  addedAt: 0,
});

onEachEngine('trusted documents', (kit) => {
  let other: TestGateway;
  const keys = {} as Record<'bound' | 'reporting' | 'free', string>;

  beforeAll(async () => {
    const { gateway } = kit;
    other = await TestGateway.start(kit.opened.store, {}, kit.clock);
    await gateway.store.addDocuments([
      documentOf('web', 'pets', PETS),
      documentOf('web', 'create', CREATE),
      documentOf('web', 'watch', WATCH),
      documentOf('app', 'orders', OTHER),
    ]);
    keys.bound = await gateway.restrictedKey({ documents: 'web' });
    keys.reporting = await gateway.restrictedKey({ documents: 'report:web' });
    keys.free = gateway.key;
  });
  afterAll(() => other?.close());

  const ask = (
    body: object,
    key = keys.bound,
    more: { headers?: Record<string, string> } = {},
  ): Promise<Sent> => send(kit.gateway, 'POST /graphql', { key, body, ...more });
  const persisted = (sha256Hash: string) => ({ extensions: { persistedQuery: { version: 1, sha256Hash } } });

  it.each<[string, object]>([
    ['its text', { query: PETS }],
    ['its id', { documentId: 'pets' }],
    ['its SHA-256', { documentId: hashOf(PETS) }],
    ['sha256: and its SHA-256', { documentId: `sha256:${hashOf(PETS).toUpperCase()}` }],
    ['persistedQuery', persisted(hashOf(PETS))],
    ['persistedQuery with sha256: and its SHA-256', persisted(`sha256:${hashOf(PETS)}`)],
    ['persistedQuery with the text', { query: PETS, ...persisted(hashOf(PETS)) }],
    ['its id with the text', { query: PETS, documentId: 'pets' }],
    ['its id and an empty text', { query: '', documentId: 'pets', operationName: 'Pets' }],
  ])('a bound key runs a document by %s', async (_, body) => {
    expect(dataOf(await ask(body))).toEqual({ pets: { totalCount: expect.any(Number) } });
  });

  it('names a document over GET and QUERY too, where a mutation is 405', async () => {
    const { gateway } = kit;
    const get = (query: string) => send(gateway, `/graphql?${query}`, { key: keys.bound });
    dataOf(await get('documentId=pets'));
    dataOf(await get(`documentId=sha256:${hashOf(PETS)}`));
    dataOf(await get(`extensions=${encodeURIComponent(JSON.stringify(persisted(hashOf(PETS)).extensions))}`));
    expectQueryRefusal(await get('documentId=create'), 'METHOD_NOT_ALLOWED');
    expectQueryRefusal(await get('documentId=none'), 'PERSISTED_QUERY_NOT_FOUND', 'PersistedQueryNotFound');
    dataOf(await send(gateway, 'QUERY /graphql', { key: keys.bound, body: { documentId: 'pets' } }));
    const mutation = await send(gateway, 'QUERY /graphql', {
      key: keys.bound,
      body: { documentId: 'create' },
    });
    expectQueryRefusal(mutation, 'METHOD_NOT_ALLOWED');
    dataOf(await ask({ documentId: 'create' }));
  });

  it('refuses a bound key everything else, for 1 unit', async () => {
    const { gateway } = kit;
    const key = await gateway.newKey('free', undefined, { documents: 'web' });
    const left = ({ headers }: Sent) => Number(headers['x-ratelimit-remaining']);
    const refusals: [object, Parameters<typeof expectQueryRefusal>[1], string?][] = [
      [{ query: OTHER }, 'FORBIDDEN', NONE],
      [{ query: `${PETS} ` }, 'FORBIDDEN', NONE],
      [{ query: '{ __schema { queryType { name } } }' }, 'FORBIDDEN', NONE],
      [{ query: '{ __typename }' }, 'FORBIDDEN', NONE],
      [{ query: '{ not GraphQL' }, 'FORBIDDEN', NONE],
      [{ query: OTHER, ...persisted(hashOf(OTHER)) }, 'FORBIDDEN', NONE],
      [{ documentId: 'orders' }, 'PERSISTED_QUERY_NOT_FOUND'],
      [{ documentId: hashOf(OTHER) }, 'PERSISTED_QUERY_NOT_FOUND'],
      [persisted(hashOf(OTHER)), 'PERSISTED_QUERY_NOT_FOUND'],
      [{ query: OTHER, documentId: 'pets' }, 'BAD_REQUEST'],
      [{ documentId: 7 }, 'BAD_REQUEST'],
      [{ documentId: 'a b' }, 'BAD_REQUEST'],
      [{}, 'BAD_REQUEST'],
    ];
    let units = 60;
    for (const [body, code, message] of refusals) {
      const sent = await ask(body, key);
      expectQueryRefusal(sent, code, message);
      // What a client cannot know is free.
      if (code !== 'PERSISTED_QUERY_NOT_FOUND' || 'documentId' in body) units--;
      expect(left(sent), sent.about).toBe(units);
    }
    // Documents registered by other keys change nothing.
    dataOf(await ask({ query: OTHER, ...persisted(hashOf(OTHER)) }, keys.free));
    expectQueryRefusal(await ask(persisted(hashOf(OTHER)), key), 'PERSISTED_QUERY_NOT_FOUND');
    const cost = await send(gateway, 'POST /graphql/cost', { key, body: { query: OTHER } });
    expectQueryRefusal(cost, 'FORBIDDEN', NONE);
    expect((await send(gateway, 'POST /graphql/cost', { key, body: { documentId: 'pets' } })).json.cost).toBe(
      1,
    );
    // REST documents are ours.
    expect((await send(gateway, '/store/orders', { key })).status).toBe(200);
  });

  it('decides entry by entry in a batch', async () => {
    const sent = await ask([
      { query: OTHER },
      { documentId: 'pets' },
      { documentId: 'none' },
      { query: PETS },
    ]);
    expect(sent.status, sent.about).toBe(200);
    expect(
      sent.json.map((each: { errors?: [{ extensions: object }] }) => each.errors?.[0].extensions),
    ).toEqual([
      { code: 'FORBIDDEN', status: 403 },
      undefined,
      { code: 'PERSISTED_QUERY_NOT_FOUND', status: 404 },
      undefined,
    ]);
  });

  it('names documents of all lists by their SHA-256 for keys that are bound to none', async () => {
    dataOf(await ask({ documentId: `sha256:${hashOf(OTHER)}` }, keys.free));
    dataOf(await ask({ documentId: hashOf(PETS) }, keys.free));
    expectQueryRefusal(await ask({ documentId: 'pets' }, keys.free), 'PERSISTED_QUERY_NOT_FOUND');
    expectQueryRefusal(await ask({ documentId: '0'.repeat(64) }, keys.free), 'PERSISTED_QUERY_NOT_FOUND');
  });

  it('counts and logs what a reporting key runs besides', async () => {
    const { gateway } = kit;
    dataOf(await ask({ documentId: 'pets' }, keys.reporting));
    dataOf(await ask({ query: PETS }, keys.reporting));
    const text = '{ orders { totalCount } }';
    for (let i = 0; i < 3; i++) dataOf(await ask({ query: text }, keys.reporting));
    const { id } = (await send(gateway, '/key', { key: keys.reporting })).json;
    const { text: metrics } = await send(gateway, '/metrics');
    expect(metrics).toContain(`petstore_untrusted_documents_total{api_key="${id}"} 3`);
    const logged = gateway.logs.filter((line) => line.includes('untrusted document'));
    expect(logged).toHaveLength(3);
    expect(logged[0]).toContain(hashOf(text));
    // Clients of other keys have sent a listed document, and another one, with their hashes.
    for (const query of [PETS, text]) dataOf(await ask({ query, ...persisted(hashOf(query)) }, keys.free));
    for (const query of [PETS, text]) dataOf(await ask(persisted(hashOf(query)), keys.reporting));
    expect((await send(gateway, '/metrics')).text).toContain(
      `petstore_untrusted_documents_total{api_key="${id}"} 4`,
    );
  });

  it('is in force on every instance within 5 seconds, for open subscriptions too', async () => {
    const { gateway, clock } = kit;
    const { key, apiKey } = await gateway.keyRecord({});
    const added = 'query Added { categories(first: 1) { totalCount } }';
    await gateway.store.updateApiKey(apiKey.id, { documents: 'web' });
    const all = (body: object) =>
      Promise.all([gateway, other].map((each) => send(each, 'POST /graphql', { key, body })));
    for (const sent of await all({ query: added })) expectQueryRefusal(sent, 'FORBIDDEN');
    await gateway.store.addDocuments([documentOf('web', 'added', added)]);
    clock.advance(5_000);
    for (const sent of await all({ query: added })) dataOf(sent);
    await gateway.store.removeDocuments('web', ['added']);
    clock.advance(5_000);
    for (const sent of await all({ documentId: 'added' }))
      expectQueryRefusal(sent, 'PERSISTED_QUERY_NOT_FOUND');

    const request = httpRequest(`${gateway.url}/graphql`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': key, accept: 'text/event-stream', 'content-type': 'application/json' },
    });
    request.end(JSON.stringify({ documentId: 'watch' }));
    const [response] = await once(request, 'response');
    expect(response.statusCode).toBe(200);
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await gateway.store.removeDocuments('web', ['watch']);
    clock.advance(5_000);
    await expect.poll(() => text).toContain('complete');
    expect(text).toContain('FORBIDDEN');
    await gateway.store.addDocuments([documentOf('web', 'watch', WATCH)]);
  });

  it('knows when a document was last used', async () => {
    const { gateway, clock } = kit;
    await ask({ documentId: 'pets' });
    await gateway.flushUsage();
    expect(await gateway.store.documentById('web', 'pets')).toEqual({
      ...documentOf('web', 'pets', PETS),
      lastUsedAt: clock.now(),
    });
  });
});

describe('a bound key', () => {
  const kit = useGateway(sqlite);

  it('is known to have used a document although that could not be written at first', async () => {
    let isAway = true;
    const store = failing(kit.opened.store, /^touchDocuments$/, (_, write) => {
      if (isAway) throw unavailable();
      return write();
    });
    await store.addDocuments([documentOf('used', 'pets', PETS)]);
    const documents = new NamedDocuments({ store, clock: kit.clock, onUntrusted() {}, report() {} });
    const named = { documentId: 'pets', query: undefined, persistedQuery: undefined };
    await documents.textOf({ id: 'key', documents: ['used'] }, named);
    await expect(documents.flush()).rejects.toThrow();
    isAway = false;
    await documents.close();
    expect((await store.documentById('used', 'pets'))?.lastUsedAt).toBe(kit.clock.now());
  });
});
