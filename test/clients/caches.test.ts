import { gql, type ObservableQuery } from '@apollo/client';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it, vi } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { dataOf, type Kit, makeWorld, query, sqlite, useGateway } from '../kit/petstore.ts';
import { apolloClient } from './apollo-client.ts';
import { urqlClient } from './urql-client.ts';

const SCREEN = gql(`query Screen($id: ID!) {
  category(id: $id) { id pets { nodes { id name status inventory { id quantity status } } } }
}`);

/** A client that shows a category on a screen. */
interface Watching {
  /** The pets shown at present. */
  shown(): object[] | undefined;
  mutate(text: string): Promise<unknown>;
  stop(): void;
}

function watchByApollo({ gateway: { url, key } }: Kit, id: string): Watching {
  const client = apolloClient(url, key);
  let shown: object[] | undefined;
  const screen: ObservableQuery<{ category: { pets: { nodes: object[] } } }> = client.watchQuery({
    query: SCREEN,
    variables: { id },
  });
  const subscription = screen.subscribe(({ data, dataState }) => {
    if (dataState === 'complete') shown = data.category.pets.nodes;
  });
  return {
    shown: () => shown,
    // Only the server knows which records a list contains.
    mutate: (text) =>
      client.mutate({ mutation: gql(text), refetchQueries: text.includes('delete') ? ['Screen'] : [] }),
    stop() {
      subscription.unsubscribe();
      client.stop();
    },
  };
}

async function newUrqlClient({ gateway }: Kit) {
  const schema = dataOf(await query(gateway, getIntrospectionQuery()));
  return urqlClient(gateway.url, gateway.key, schema);
}

async function watchByUrql(kit: Kit, id: string): Promise<Watching> {
  const client = await newUrqlClient(kit);
  let shown: object[] | undefined;
  const { unsubscribe } = client.query(SCREEN, { id }).subscribe(({ data, stale }) => {
    if (data && !stale) shown = data.category.pets.nodes;
  });
  return {
    shown: () => shown,
    mutate: async (text) => expect((await client.mutation(gql(text), {})).error).toBeUndefined(),
    stop: unsubscribe,
  };
}

describe('normalised caches', () => {
  const kit = useGateway(sqlite);

  /** Runs a test during which nothing may be warned of. */
  async function withoutWarnings(test: () => Promise<void>): Promise<void> {
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
    await test();
    expect(warnings.mock.calls).toEqual([]);
    warnings.mockRestore();
  }

  it.each([
    { client: 'Apollo Client', watch: watchByApollo },
    { client: 'urql', watch: watchByUrql },
  ])('of $client show what mutations change and delete', ({ watch }) =>
    withoutWarnings(async () => {
      const { C, P, F } = await makeWorld(kit);
      const screen = await watch(kit, C);
      const until = async (...expected: object[]) => {
        await expect.poll(screen.shown).toMatchObject(expected);
        expect(screen.shown()).toHaveLength(expected.length);
      };
      const fifi = { id: F, name: 'Fifi', status: 'available', inventory: { quantity: 0 } };
      await until({ id: P, name: 'Rex', inventory: { quantity: 5 } }, fifi);
      await screen.mutate(`mutation { updateInventory(petId: ${P}, input: {quantity: 7}) { id quantity } }`);
      await until({ id: P, name: 'Rex', inventory: { quantity: 7 } }, fifi);
      await screen.mutate(`mutation {
        updatePet(id: ${P}, input: {name: "Max", status: pending}) { id name status inventory { id status } }
      }`);
      const max = { id: P, name: 'Max', status: 'pending', inventory: { quantity: 7, status: 'pending' } };
      await until(max, fifi);
      await screen.mutate(`mutation { deletePet(id: ${F}) }`);
      await until(max);
      screen.stop();
    }),
  );

  const NAMES = `query Names($filter: PetFilter, $after: String) {
    pets(first: 1, after: $after, filter: $filter) {
      edges { cursor node { id name } } nodes { id name } pageInfo { hasNextPage endCursor }
    }
    rateLimit { plan minute { limit } }
  }`;

  it('of Apollo Client append the next page to a list', async () => {
    const { C } = await makeWorld(kit);
    const client = apolloClient(kit.gateway.url, kit.gateway.key);
    const variables = { filter: { categoryId: C }, after: null };
    const names = client.watchQuery<{
      pets: { edges: { node: { name: string } }[]; pageInfo: { endCursor: string } };
    }>({ query: gql(NAMES), variables });
    let shown: string[] = [];
    let after: string | undefined;
    const subscription = names.subscribe(({ data, dataState }) => {
      if (dataState !== 'complete') return;
      shown = data.pets.edges.map(({ node }) => node.name);
      after = data.pets.pageInfo.endCursor;
    });
    await expect.poll(() => shown).toEqual(['Rex']);
    await names.fetchMore({ variables: { after } });
    await expect.poll(() => shown).toEqual(['Rex', 'Fifi']);
    subscription.unsubscribe();
    client.stop();
  });

  it('of urql join pages, and keep what has no id', () =>
    withoutWarnings(async () => {
      const { C } = await makeWorld(kit);
      const client = await newUrqlClient(kit);
      const read = async (after: string | null) => {
        const { data, error } = await client.query(NAMES, { filter: { categoryId: C }, after });
        expect(error).toBeUndefined();
        expect(data.rateLimit.minute.limit).toBeGreaterThan(0);
        return data.pets;
      };
      const first = await read(null);
      expect(first.nodes).toMatchObject([{ name: 'Rex' }]);
      expect((await read(first.pageInfo.endCursor)).nodes).toMatchObject([{ name: 'Rex' }, { name: 'Fifi' }]);
    }));
});

describe('the links of Apollo Client', () => {
  const kit = useGateway(sqlite);

  it.each([
    { kind: 'query', hashesBy: 'GET', run: '{ pets { nodes { id name } } }' },
    {
      kind: 'mutation',
      hashesBy: 'POST',
      run: 'mutation { createCategory(input: {name: "Apollo"}) { id } }',
    },
  ])('send the hash of a $kind by $hashesBy, and its text once', async ({ kind, hashesBy, run }) => {
    const requests: [method: string, status: number, hasText: boolean][] = [];
    for (let visitor = 1; visitor <= 2; visitor++) {
      const client = apolloClient(kit.gateway.url, kit.gateway.key, {
        fetch: async (url, { method = 'GET', body, ...options } = {}) => {
          const response = await fetch(url, { method, body: body ?? null, ...options });
          requests.push([method, response.status, /pets|createCategory/.test(`${url}${body}`)]);
          return response;
        },
      });
      const sent =
        kind === 'query' ? client.query({ query: gql(run) }) : client.mutate({ mutation: gql(run) });
      expect((await sent).data).toBeTruthy();
      client.stop();
    }
    expect(requests).toEqual([
      [hashesBy, 404, false],
      ['POST', 200, true],
      [hashesBy, 200, false],
    ]);
  });

  it('subscribe by server-sent events', async () => {
    const client = apolloClient(kit.gateway.url, kit.gateway.key);
    const names: unknown[] = [];
    const subscription = client
      .subscribe<{ events: { category: { name: string } } }>({
        query: gql('subscription { events(types: [category_created]) { id category { id name } } }'),
      })
      .subscribe(({ data, error }) => names.push(error ?? data!.events.category.name));
    await expect.poll(() => kit.gateway.metric('event_streams')).toBe(1);
    await kit.gateway.store.table(Category).insert({ name: 'Live' });
    await expect.poll(() => names).toEqual(['Live']);
    subscription.unsubscribe();
    client.stop();
  });
});
