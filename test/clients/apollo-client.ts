import { createHash } from 'node:crypto';
import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';

export function apolloClient(url: string, key: string, options: HttpLink.Options = {}): ApolloClient {
  const persistedQueries = new PersistedQueryLink({
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
    useGETForHashedQueries: true,
  });
  const http = new HttpLink({ uri: `${url}/graphql`, headers: { 'X-API-Key': key }, ...options });
  const possibleTypes = { Node: ['Pet', 'Category', 'Order', 'InventoryItem'] };
  return new ApolloClient({
    link: persistedQueries.concat(http),
    cache: new InMemoryCache({ possibleTypes }),
  });
}
