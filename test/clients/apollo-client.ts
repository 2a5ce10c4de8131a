import { createHash } from 'node:crypto';
import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { relayStylePagination } from '@apollo/client/utilities';

export function apolloClient(url: string, key: string, options: HttpLink.Options = {}): ApolloClient {
  const persistedQueries = new PersistedQueryLink({
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    useGETForHashedQueries: true,
  });
  const http = new HttpLink({ uri: `${url}/graphql`, headers: { 'X-API-Key': key }, ...options });
  const possibleTypes = { Node: ['Pet', 'Category', 'Order', 'InventoryItem'] };
  // What fetchMore gets is appended to the edges of the list with the same filter and order.
  const typePolicies = { Query: { fields: { pets: relayStylePagination(['filter', 'sort']) } } };
  return new ApolloClient({
    link: persistedQueries.concat(http),
    cache: new InMemoryCache({ possibleTypes, typePolicies }),
  });
}
