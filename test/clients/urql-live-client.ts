import { Client, gql, subscriptionExchange } from '@urql/core';
import { sseClient } from './sse-client.ts';

const PETS = gql`
  subscription Pets($after: ID) {
    events(after: $after, types: [pet_created]) {
      id
      pet { name }
    }
  }
`;

/** @param after the id of the last event seen. @returns a function that ends the subscription */
export function followPets(
  url: string,
  key: string,
  after: string,
  onPet: (name: string) => void,
): () => void {
  const sse = sseClient(url, key);
  const client = new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    exchanges: [
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: sse.subscribe(
              { query: query!, variables: variables as Record<string, unknown> },
              sink as never,
            ),
          }),
        }),
      }),
    ],
  });
  const { unsubscribe } = client.subscription(PETS, { after }).subscribe(({ data, error }) => {
    if (error) throw error;
    onPet(data.events.pet.name);
  });
  return unsubscribe;
}
