import { Client, fetchExchange } from '@urql/core';
import { type CacheExchangeOpts, cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';

export const WITHOUT_ID = [
  ...['CategoryConnection', 'EventConnection', 'InventoryItemConnection', 'OrderConnection', 'PetConnection'],
  ...['RateLimit', 'RateLimitWindow', 'UsageDay', 'UsageOperation', 'WebhookAttempt', 'WebhookFailure'],
];

/** @param schema the result of an introspection query */
export const urqlClient = (url: string, key: string, schema: CacheExchangeOpts['schema']): Client =>
  new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { 'X-API-Key': key } },
    exchanges: [
      cacheExchange({
        ...(schema && { schema }),
        // What has no id is kept with the record that it belongs to.
        keys: Object.fromEntries(WITHOUT_ID.map((type) => [type, () => null])),
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
