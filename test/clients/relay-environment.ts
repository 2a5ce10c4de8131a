import { Environment, Network, RecordSource, Store } from 'relay-runtime';

export const relayEnvironment = (url: string, key: string): Environment =>
  new Environment({
    store: new Store(new RecordSource()),
    getDataID: (record) => record.nodeId,
    network: Network.create(async ({ text }, variables) => {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-API-Key': key },
        body: JSON.stringify({ query: text, variables }),
      });
      return await response.json();
    }),
  });
