import type { CommandStartedEvent } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { MAX_TURN } from '../../src/foundation/turns.ts';
import { withCalls } from '../../src/observability/instrumented-store.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import type { Store } from '../../src/store/store.ts';
import { pairsOf } from '../kit/cases.ts';
import { TestGateway } from '../kit/gateway.ts';
import { dropDatabase, monitoredUri } from '../kit/mongo.ts';
import { dataOf, query, send } from '../kit/petstore.ts';
import { type Engine, enginesAtLength, type OpenedStore } from '../kit/stores.ts';

const WRITES = new Set(['insert', 'update', 'remove']);

/** The store, recording each of its reads of records. A read is one command to the database. */
function counting(store: Store, called: (name: string) => void): Store {
  const counted = withCalls(store, (name, call) => (...args) => {
    const [, method] = name.split('.');
    if (method !== undefined && !WRITES.has(method)) called(name);
    return call(...args);
  });
  // Records cached by the embedded engine would hide reads; it reads the first of a kind apart from its level.
  const table: Store['table'] = (record) => ({
    ...counted.table(record),
    cached: () => undefined,
    load: undefined,
  });
  return { ...counted, table };
}

async function fillStore(store: Store): Promise<void> {
  for (let c = 0; c < 5; c++) {
    const { id: categoryId } = await store.table(Category).insert({ name: `C${c}` });
    for (let p = 0; p < 4; p++) {
      const pet = { name: `P${c}.${p}`, categoryId, status: 'available' } as const;
      const { id: petId } = await store.table(Pet).insert(pet);
      if (p < 2) await store.table(Order).insert({ petId, quantity: p + 1, complete: false });
    }
  }
}

const DEEP = '{ categories(first: 50) { nodes { pets(first: 10) { nodes { category { name } } } } } }';

const aliases = (field: string) =>
  Array.from({ length: 30 }, (_, i) => `a${i}: ${field.replace('$', `${i + 2}`)}`).join(' ');

/**
 * Operations, each above its reads, which do not depend on how wide its levels are. A filter that contradicts its parent
 * needs no read, and equal filters are read once.
 */
const COUNTS = pairsOf(`
${DEEP}
  categories.page pets.pagesByParent
{ pets { nodes { category { name pets(first: 2) { nodes { orders(first: 1) { nodes { pet { category { name } } } } } } } } } }
  pets.page categories.byIds pets.pagesByParent orders.pagesByParent
{ orders { nodes { pet { inventory { quantity pet { name } } category { name } } } } }
  orders.page pets.byIds categories.byIds
{ categories { nodes { pets(first: 50) { nodes { orders(first: 1) { nodes { pet { category { name } } } } } } } } }
  categories.page pets.pagesByParent orders.pagesByParent
{ inventory { nodes { pet { category { name } } } } }
  pets.page categories.byIds
{ pets { nodes { orders { totalCount } } } }
  pets.page orders.pagesByParent orders.countsByParent
{ categories { nodes { pets { totalCount } } } }
  categories.page pets.pagesByParent pets.countsByParent
{ pets { totalCount } }
  pets.page pets.count
{ categories { totalCount } orders { totalCount } inventory { totalCount } }
  categories.page orders.page pets.page categories.count orders.count pets.count
{ pets(first: 2) { nodes { id } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }
  pets.page
{ pets(first: 2, after: "3") { pageInfo { hasPreviousPage } } }
  pets.page pets.page
{ pets(first: 2, after: "3") { pageInfo { hasNextPage } } }
  pets.page
{ a: pet(id: 1) { name } b: pet(id: 2) { name } c: pet(id: 1) { status } d: inventoryItem(petId: 3) { quantity } }
  pets.byIds
{ a: category(id: 1) { pets { nodes { id } } } b: category(id: 2) { pets { nodes { id } } } }
  categories.byIds pets.pagesByParent
{ category(id: 1) { ${aliases('pets(filter: {categoryId: $}) { totalCount }')} } }
  categories.byIds
{ category(id: 1) { a: pets(filter: {status: [sold, pending]}) { totalCount } b: pets(filter: {status: [pending, sold, sold], categoryId: 1}) { totalCount } } }
  categories.byIds pets.pagesByParent pets.countsByParent
{ pet(id: 1) { ${aliases('orders(filter: {petId: $}) { totalCount }')} } }
  pets.byIds
`);

describe.each(enginesAtLength)('reads ($name)', (engine: Engine) => {
  const calls: string[] = [];
  let called = (name: string): unknown => calls.push(name);
  let opened: OpenedStore;
  let gateway: TestGateway;

  beforeAll(async () => {
    opened = await engine.open();
    await fillStore(opened.store);
    gateway = await TestGateway.start(counting(opened.store, (name) => called(name)));
  });
  afterAll(async () => {
    await gateway?.close();
    await opened?.close();
  });

  it.each([...COUNTS, ['{ rateLimit { plan } __typename }', '']])(
    'batches the reads of %s',
    async (operation, reads) => {
      for (let time = 0; time < 2; time++) {
        calls.length = 0;
        const sent = await query(gateway, operation);
        dataOf(sent);
        // The engine decides the order within a level.
        expect([...calls].sort(), sent.about).toEqual(reads.split(' ').filter(Boolean).sort());
      }
    },
  );

  // What MongoDB reads does not run here.
  it.runIf(engine.name === 'sqlite')('serves others between many queries of several units', async () => {
    const operation = '{ categories(first: 20) { nodes { pets(first: 10) { nodes { id } } } } }';
    const many = (sent: () => Promise<unknown>) => Promise.all(Array.from({ length: 20 }, sent));
    // Connects: a server accepts one connection in a turn.
    await many(() => send(gateway, '/pets/1'));
    const order: string[] = [];
    let other: Promise<unknown> | undefined;
    called = (name) => {
      order.push(name);
      if (name.includes('ByParent')) {
        other ??= send(gateway, '/pets/1');
        for (const began = performance.now(); performance.now() - began < MAX_TURN;);
      }
    };
    await many(() => query(gateway, operation));
    await other;
    expect(order.slice(order.indexOf('pets.byIds')).join(' ')).toContain('ByParent');
  });
});

/** The collections that an instance reads and writes at any time, whatever is asked of it. */
const IN_BACKGROUND = new Set(['apiKeys', 'requestChunks', 'sessions', 'usageHistory', 'webhooks']);

describe.runIf(process.env.TEST_MONGODB_URI)('MongoDB commands', () => {
  const database = `loaders-${process.pid}-${Date.now()}`;
  let store: Awaited<ReturnType<typeof openMongoStore>>;
  let gateway: TestGateway;

  beforeAll(async () => {
    store = await openMongoStore({ records: api.records, uri: monitoredUri(database) });
    await fillStore(store);
    gateway = await TestGateway.start(store);
  });
  afterAll(async () => {
    await gateway?.close();
    await store?.close();
    await dropDatabase(database);
  });

  it.each([
    [DEEP, ['aggregate categories', 'aggregate categories']],
    [
      '{ orders { nodes { pet { category { name } } } } }',
      ['aggregate orders', 'find pets', 'find categories'],
    ],
  ])('sends at most one read command per level for %s', async (operation, expected) => {
    // The first charge of a key creates its usage document.
    await query(gateway, '{ pet(id: 1) { id } }');
    const commands: CommandStartedEvent[] = [];
    const listen = (event: CommandStartedEvent) => commands.push(event);
    store.client.on('commandStarted', listen);
    const sent = await query(gateway, operation);
    store.client.off('commandStarted', listen);
    dataOf(sent);
    const ofRequest = commands
      .map(({ commandName, command }) => ({ commandName, of: command.collection ?? command[commandName] }))
      .filter(({ of }) => typeof of === 'string' && !IN_BACKGROUND.has(of))
      .map(({ commandName, of }) => `${commandName} ${of}`);
    // The charge of the key goes first.
    expect(ofRequest, sent.about).toEqual(['findAndModify usage', ...expected]);
  });
});
