import { gql } from '@urql/core';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it, vi } from 'vitest';
import { dataOf, makeWorld, query, sqlite, useGateway } from '../kit/petstore.ts';
import { urqlClient } from './urql-client.ts';

describe('urql with its normalised cache', () => {
  const kit = useGateway(sqlite);

  const SCREEN = gql`
    query Screen($id: ID!) {
      category(id: $id) {
        id
        pets {
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

  it('updates a query after mutations, a deletion included, without warnings', async () => {
    const { C, P, F } = await makeWorld(kit);
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const schema = dataOf(await query(kit.gateway, getIntrospectionQuery()));
    const client = urqlClient(kit.gateway.url, kit.gateway.key, schema);
    let shown: object[] | undefined;
    const { unsubscribe } = client.query(SCREEN, { id: C }).subscribe(({ data, stale }) => {
      if (data && !stale) shown = data.category.pets.nodes;
    });
    const until = async (expected: object[]) => {
      await expect.poll(() => shown).toMatchObject(expected);
      expect(shown).toHaveLength(expected.length);
    };
    const mutate = async (text: string) => {
      const { error } = await client.mutation(gql(text), {});
      expect(error).toBeUndefined();
    };
    const fifi = { id: F, name: 'Fifi', status: 'available' };
    await until([{ id: P, name: 'Rex', inventory: { quantity: 5 } }, fifi]);
    await mutate(`mutation { updateInventory(petId: ${P}, input: {quantity: 7}) { id quantity } }`);
    await until([{ id: P, name: 'Rex', inventory: { quantity: 7 } }, fifi]);
    await mutate(
      `mutation { updatePet(id: ${P}, input: {name: "Max", status: pending}) { id name status inventory { id status } } }`,
    );
    const max = { id: P, name: 'Max', status: 'pending', inventory: { quantity: 7, status: 'pending' } };
    await until([max, fifi]);
    await mutate(`mutation { deletePet(id: ${F}) }`);
    await until([max]);
    unsubscribe();
    expect(warnings.mock.calls).toEqual([]);
    warnings.mockRestore();
  });

  it('joins pages, and keeps what has no id, without warnings', async () => {
    const { C } = await makeWorld(kit);
    const warnings = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const schema = dataOf(await query(kit.gateway, getIntrospectionQuery()));
    const client = urqlClient(kit.gateway.url, kit.gateway.key, schema);
    const text = gql`
      query Names($filter: PetFilter, $after: String) {
        pets(first: 1, after: $after, filter: $filter) {
          nodes {
            id
            name
          }
          pageInfo {
            hasNextPage
            endCursor
          }
        }
        rateLimit {
          plan
          minute {
            limit
          }
        }
      }
    `;
    const read = async (after: string | null) => {
      const { data, error } = await client.query(text, { filter: { categoryId: C }, after });
      expect(error).toBeUndefined();
      expect(data.rateLimit.minute.limit).toBeGreaterThan(0);
      return data.pets;
    };
    const first = await read(null);
    expect(first.nodes).toMatchObject([{ name: 'Rex' }]);
    expect((await read(first.pageInfo.endCursor)).nodes).toMatchObject([{ name: 'Rex' }, { name: 'Fifi' }]);
    expect(warnings.mock.calls).toEqual([]);
    warnings.mockRestore();
  });
});
