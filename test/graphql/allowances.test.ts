import { afterEach, beforeAll, expect, it } from 'vitest';
import { Pet } from '../../src/domains/pet/pet.ts';
import { ALLOWANCES, type Metered } from '../../src/foundation/meter.ts';
import type { Store } from '../../src/store/store.ts';
import { EventStreamClient } from '../kit/event-stream.ts';
import { TestGateway } from '../kit/gateway.ts';
import { makeWorld, onEachEngine, query } from '../kit/petstore.ts';

/** Operations that draw on each allowance. Without it they would go on, whatever they had paid. */
const REFUSED: readonly (readonly [what: Metered, operation: string])[] = [
  ['entries', '{ pets { nodes { id } } }'],
  ['entries', '{ category(id: $C) { pets { nodes { id } } } }'],
  ['entries', '{ inventory { nodes { id } } }'],
  ['records', '{ pet(id: $P) { id } }'],
  ['records', '{ pets { nodes { id } } }'],
  ['records', '{ category(id: $C) { pets { nodes { id } } } }'],
  ['counted', '{ pets(filter: {name: "r"}) { totalCount } }'],
  ['counted', '{ category(id: $C) { pets(filter: {name: "r"}) { totalCount } } }'],
];
/** The allowances that end a page early: of events on MongoDB, since the embedded engine reads no more than a page has, and of requests. */
const ENDED_EARLY: readonly Metered[] = ['events', 'requests'];

onEachEngine('allowances', (kit) => {
  const table: Record<string, object> = ALLOWANCES;
  const before = { ...table };
  let world: Record<string, string>;
  const without = (what: Metered) => {
    table[what] = { ...table[what], base: 0, perUnit: 0 };
  };

  beforeAll(async () => {
    world = (await makeWorld(kit)) as never;
  });
  afterEach(() => {
    Object.assign(table, before);
  });

  it.each(REFUSED)('of %s bound %s', async (what, operation) => {
    const text = operation.replace(/\$([CP])/g, (_, name) => world[name]!);
    const variables = { first: 1 };
    expect((await query(kit.gateway, text, variables)).json.errors).toBeUndefined();
    without(what);
    const [verb, ...rest] = ALLOWANCES[what].what.split(' ');
    const sent = await query(kit.gateway, text, variables);
    expect(sent.json.errors?.[0], sent.about).toMatchObject({
      message: `The operation ${verb} more than 0 ${rest.join(' ')}.`,
      extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 },
    });
  });

  it('are the same for each attempt of a transaction', async () => {
    const { store } = kit.opened;
    table.records = { ...table.records, base: 0, perUnit: 3 };
    let attempts = 0;
    const conflicting: Store = {
      ...store,
      transaction: (work) =>
        store.transaction(async (own) => {
          for (; attempts < 4; attempts++) await work(own);
          return work(own);
        }),
    };
    const gateway = await TestGateway.start(conflicting, {}, kit.clock);
    const text = `mutation {
      a: updatePet(id: ${world.P}, input: {}) { category { pets { nodes { id } } } }
      b: updatePet(id: ${world.F}, input: {}) { category { pets { nodes { id } } } }
    }`;
    const sent = await query(gateway, text);
    await gateway.close();
    expect([sent.json.errors, attempts]).toEqual([undefined, 4]);
  });

  it('of a subscription cover the 100 events of a payment', async () => {
    const { gateway } = kit;
    table.counted = { ...table.counted, base: 0, perUnit: 50 };
    const body = JSON.stringify({
      query: `subscription { events(types: [pet_updated]) {
        pet { category { pets(first: 1, filter: {name: "P"}) { totalCount } } } } }`,
    });
    const headers = { 'content-type': 'application/json' };
    const client = await EventStreamClient.open(gateway, '/graphql', { method: 'POST', body, headers });
    for (let n = 1; n <= 101; n++) await gateway.store.table(Pet).update(world.P!, { name: `P${n}` });
    const codes = (await client.until(101)).map(
      ({ data }) => JSON.parse(data!).errors?.[0].extensions.code ?? 'counted',
    );
    client.close();
    expect(codes.indexOf('QUERY_TOO_COMPLEX')).toBeGreaterThan(10);
    expect([codes[99], codes[100]]).toEqual(['QUERY_TOO_COMPLEX', 'counted']);
  });

  it('have a test each', () => {
    const tested = new Set([...REFUSED.map(([what]) => what), ...ENDED_EARLY]);
    expect([...tested].toSorted()).toEqual(Object.keys(ALLOWANCES).toSorted());
  });
});
