import { Client, fetchExchange } from '@urql/core';
import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';

/** @param schema the result of an introspection query */
export const urqlClient = (url: string, key: string, schema: CacheExchangeOpts['schema']): Client =>
  new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { 'X-API-Key': key } },
    exchanges: [
      cacheExchange({
        ...(schema && { schema }),
        // Pages have no id. Deleted records must disappear from them.
        keys: { PetConnection: () => null },
        updates: {
          Mutation: {
            deletePet: (_result, { id }, cache) => cache.invalidate({ __typename: 'Pet', id: id as string }),
          },
        },
      }),
      fetchExchange,
    ],
  });
