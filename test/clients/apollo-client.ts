import { createHash } from 'node:crypto';
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, Observable } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { relayStylePagination } from '@apollo/client/utilities';
import { print } from 'graphql';
import { sseClient } from './sse-client.ts';

export function apolloClient(url: string, key: string, options: HttpLink.Options = {}): ApolloClient {
  const uri = `${url}/graphql`;
  const headers = { 'X-API-Key': key };
  const persistedQueries = new PersistedQueryLink({
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    useGETForHashedQueries: true,
  });
  const http = new HttpLink({ uri, headers, ...options });
  const sse = sseClient(url, key);
  const subscriptions = new ApolloLink(
    ({ query, variables }) =>
      new Observable((sink) => sse.subscribe({ query: print(query), variables }, sink as never)),
  );
  const possibleTypes = { Node: ['Pet', 'Category', 'Order', 'InventoryItem'] };
  // What fetchMore gets is appended to the edges of the list with the same filter and order.
  const typePolicies = { Query: { fields: { pets: relayStylePagination(['filter', 'sort']) } } };
  return new ApolloClient({
    link: ApolloLink.split(
      ({ operationType }) => operationType === 'subscription',
      subscriptions,
      persistedQueries.concat(http),
    ),
    cache: new InMemoryCache({ possibleTypes, typePolicies }),
  });
}
