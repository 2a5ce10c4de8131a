import { gql, type ObservableQuery } from '@apollo/client';
import { describe, expect, it } from 'vitest';
import { makeWorld, sqlite, useGateway } from '../kit/petstore.ts';
import { apolloClient } from './apollo-client.ts';

describe('Apollo Client', () => {
  const kit = useGateway(sqlite);
  const requests: { method: string; url: string; body: string; status: number }[] = [];
  const newClient = () =>
    apolloClient(kit.gateway.url, kit.gateway.key, {
      fetch: async (url: RequestInfo | URL, options: RequestInit = {}) => {
        const response = await fetch(url, options);
        requests.push({
          method: options.method ?? 'GET',
          url: String(url),
          body: String(options.body ?? ''),
          status: response.status,
        });
        return response;
      },
    });

  const CATEGORY = gql`
    query Screen($id: ID!) {
      category(id: $id) {
        id
        pets {
          totalCount
          nodes {
            id
            name
            status
            inventory {
              id
              quantity
              status
            }
          }
        }
      }
    }
  `;

  /** Tracks what a component that watches the query currently shows. */
  function show(query: ObservableQuery<{ category: { pets: { nodes: object[]; totalCount: number } } }>) {
    let shown: object[] | undefined;
    const subscription = query.subscribe(({ data, dataState }) => {
      if (dataState === 'complete') shown = data.category.pets.nodes;
    });
    return {
      stop: () => subscription.unsubscribe(),
      async until(expected: object[]) {
        await expect.poll(() => shown).toMatchObject(expected);
        expect(shown).toHaveLength(expected.length);
      },
    };
  }

  it('updates a watched query after mutations, and after a deletion with refetchQueries', async () => {
    const { C, P, F } = await makeWorld(kit);
    const client = newClient();
    const screen = show(client.watchQuery({ query: CATEGORY, variables: { id: C } }));
    const fifi = {
      id: F,
      name: 'Fifi',
      status: 'available',
      inventory: { quantity: 0, status: 'available' },
    };
    await screen.until([{ id: P, name: 'Rex', inventory: { quantity: 5 } }, fifi]);

    await client.mutate({
      mutation: gql`
        mutation ($id: ID!) {
          updateInventory(petId: $id, input: { quantity: 7 }) {
            id
            quantity
          }
        }
      `,
      variables: { id: P },
    });
    await screen.until([{ id: P, inventory: { quantity: 7 } }, fifi]);

    await client.mutate({
      mutation: gql`
        mutation ($id: ID!) {
          updatePet(id: $id, input: { name: "Max", status: pending }) {
            id
            name
            status
            inventory {
              id
              status
            }
          }
        }
      `,
      variables: { id: P },
    });
    const max = { id: P, name: 'Max', status: 'pending', inventory: { quantity: 7, status: 'pending' } };
    await screen.until([max, fifi]);

    await client.mutate({
      mutation: gql`
        mutation ($id: ID!) {
          deletePet(id: $id)
        }
      `,
      variables: { id: F },
      // Only the server knows which records a list contains.
      refetchQueries: ['Screen'],
    });
    await screen.until([max]);
    screen.stop();
    client.stop();
  });

  it('appends the next page to a list', async () => {
    const { C } = await makeWorld(kit);
    const client = newClient();
    const variables = { filter: { categoryId: C }, after: null };
    const query = client.watchQuery<{
      pets: { edges: { node: { name: string } }[]; pageInfo: { endCursor: string } };
    }>({
      query: gql`
        query Names($filter: PetFilter, $after: String) {
          pets(first: 1, after: $after, filter: $filter) {
            edges {
              cursor
              node {
                id
                name
              }
            }
            pageInfo {
              hasNextPage
              endCursor
            }
          }
        }
      `,
      variables,
    });
    let shown: string[] = [];
    let after: string | undefined;
    const subscription = query.subscribe(({ data, dataState }) => {
      if (dataState !== 'complete') return;
      shown = data.pets.edges.map(({ node }) => node.name);
      after = data.pets.pageInfo.endCursor;
    });
    await expect.poll(() => shown).toEqual(['Rex']);
    await query.fetchMore({ variables: { after } });
    await expect.poll(() => shown).toEqual(['Rex', 'Fifi']);
    subscription.unsubscribe();
    client.stop();
  });

  it('sends the hash of a query over GET, and the query only if the hash is unknown', async () => {
    const { P } = await makeWorld(kit);
    const query = gql(`query ByHash($id: ID!) { pet(id: $id) { id name } }`);
    requests.length = 0;
    for (let visitor = 1; visitor <= 2; visitor++) {
      const client = newClient();
      const { data } = await client.query<{ pet: object }>({ query, variables: { id: P } });
      expect(data?.pet).toMatchObject({ id: P, name: 'Rex' });
      client.stop();
    }
    expect(
      requests.map(({ method, status, url, body }) => [method, status, `${url}${body}`.includes('ByHash(')]),
    ).toEqual([
      ['GET', 404, false],
      ['POST', 200, true],
      ['GET', 200, false],
    ]);
  });

  it('sends the hash of a mutation over POST', async () => {
    const mutation = gql('mutation Add { createCategory(input: {name: "Apollo"}) { id name } }');
    requests.length = 0;
    for (let time = 1; time <= 2; time++) {
      const client = newClient();
      const { data } = await client.mutate<{ createCategory: object }>({ mutation });
      expect(data?.createCategory).toMatchObject({ name: 'Apollo' });
      client.stop();
    }
    expect(
      requests.map(({ method, status, body }) => [method, status, body.includes('createCategory(')]),
    ).toEqual([
      ['POST', 404, false],
      ['POST', 200, true],
      ['POST', 200, false],
    ]);
  });

  it('refuses a subscription over multipart, which HttpLink requests, and names the link to use', async () => {
    const subscription = gql`
      subscription {
        events {
          id
        }
      }
    `;
    const { message, accept } = await new Promise<{ message: string; accept: string }>((resolve) => {
      let accept = '';
      const fetchOnce = (url: RequestInfo | URL, options: RequestInit = {}) => {
        accept = new Headers(options.headers).get('accept')!;
        return fetch(url, options);
      };
      const client = apolloClient(kit.gateway.url, kit.gateway.key, { fetch: fetchOnce });
      client.subscribe({ query: subscription }).subscribe({
        next: ({ error }) => resolve({ message: String(error?.message), accept }),
        error: ({ message }) => resolve({ message, accept }),
      });
    });
    expect(accept).toContain('multipart/mixed');
    expect(message).toContain("graphql-sse's client and links");
  });
});
