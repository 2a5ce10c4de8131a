import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import type { IntrospectionQuery } from 'graphql';

const withoutId = ({ __schema: { types } }: IntrospectionQuery): string[] =>
  types
    .filter((type) => type.kind === 'OBJECT' && type.fields.every(({ name }) => name !== 'id'))
    .map(({ name }) => name);

/** @param schema the result of an introspection query */
export const urqlClient = (url: string, key: string, schema: IntrospectionQuery): Client =>
  new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { 'X-API-Key': key } },
    exchanges: [
      cacheExchange({
        schema,
        // What has no id is kept with the record that it belongs to.
        keys: Object.fromEntries(withoutId(schema).map((type) => [type, () => null])),
        // Pages of one list are joined.
        resolvers: { Query: { pets: relayPagination() } },
        // Deleted records must disappear from pages.
        updates: {
          Mutation: {
            deletePet: (_result, { id }, cache) => cache.invalidate({ __typename: 'Pet', id: id as string }),
          },
        },
      }),
      fetchExchange,
    ],
  });
