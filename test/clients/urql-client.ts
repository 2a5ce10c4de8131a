import { Client, fetchExchange } from '@urql/core';
import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';

/** @param schema what introspection answers */
export const urqlClient = (url: string, key: string, schema: CacheExchangeOpts['schema']): Client =>
  new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { 'X-API-Key': key } },
    exchanges: [
      cacheExchange({
        ...(schema && { schema }),
        // Pages are no records; what is deleted must go from them.
        keys: { CategoryPetsConnection: () => null },
        updates: {
          Mutation: {
            deletePet: (_result, { id }, cache) => cache.invalidate({ __typename: 'Pet', id: id as string }),
          },
        },
      }),
      fetchExchange,
    ],
  });
