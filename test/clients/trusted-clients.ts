import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { generatePersistedQueryIdsFromManifest } from '@apollo/persisted-query-lists';
import { Client, fetchExchange } from '@urql/core';
import { persistedExchange } from '@urql/exchange-persisted';

/** @param manifest what `generate-persisted-query-manifest` wrote */
export const apolloClientOf = (
  url: string,
  key: string,
  manifest: { operations: { id: string; name: string }[] },
): ApolloClient =>
  new ApolloClient({
    link: new PersistedQueryLink(
      generatePersistedQueryIdsFromManifest({ loadManifest: async () => manifest }),
    ).concat(new HttpLink({ uri: `${url}/graphql`, headers: { 'X-API-Key': key } })),
    cache: new InMemoryCache(),
  });

/** For documents of the client preset of GraphQL Code Generator with `persistedDocuments: true`. */
export const urqlClientOf = (url: string, key: string): Client =>
  new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { 'X-API-Key': key } },
    exchanges: [
      persistedExchange({
        enforcePersistedQueries: true,
        enableForMutation: true,
        generateHash: async (_text, document) => hashOf(document),
      }),
      fetchExchange,
    ],
  });

/** The hash that the client preset gives a document. */
export const hashOf = (document: object): string =>
  (document as { __meta__: { hash: string } }).__meta__.hash;

/** Without a library: sends the id of a document, which may be that of Relay's compiler or of the client preset. */
export async function run(url: string, key: string, documentId: string, variables: object) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
    body: JSON.stringify({ documentId, variables }),
  });
  const { data, errors } = await response.json();
  if (errors) throw new Error(errors[0].message);
  return data;
}
