import process from "node:process";
import {
  commitMutation,
  ConnectionHandler,
  createOperationDescriptor,
  Environment,
  fetchQuery,
  getRequest,
  graphql,
  Network,
  RecordSource,
  Store,
} from "relay-runtime";
import { deletePet } from "./relay-delete.js";

/** Shows a list of pets, to which one is added and from which it is deleted. */
const [url, key] = process.argv.slice(2);
const network = Network.create(async ({ text }, variables) => {
  const headers = { "Content-Type": "application/json", "X-API-Key": key };
  const body = JSON.stringify({ query: text, variables });
  return (await fetch(`${url}/graphql`, { method: "POST", headers, body })).json();
});
const store = new Store(new RecordSource());
const environment = new Environment({ store, network, getDataID: (record) => record.nodeId });

const query = graphql`
  query relayPetsQuery {
    pets(first: 10, filter: { name: "Relay" }) @connection(key: "relay_pets", filters: []) {
      edges {
        node {
          nodeId
          id
          name
        }
      }
    }
  }
`;
const operation = createOperationDescriptor(getRequest(query), {});
environment.retain(operation);
const shown = () => environment.lookup(operation.fragment).data.pets.edges.map(({ node }) => node);
await fetchQuery(environment, query, {}).toPromise();
const connection = ConnectionHandler.getConnectionID("client:root", "relay_pets", {});

await new Promise((onCompleted, onError) => {
  commitMutation(environment, {
    mutation: graphql`
      mutation relayCreateMutation($input: NewPet!, $connections: [ID!]!) {
        createPet(input: $input) @appendNode(connections: $connections, edgeTypeName: "PetEdge") {
          nodeId
          id
          name
        }
      }
    `,
    variables: { input: { name: "Relay", categoryId: 1 }, connections: [connection] },
    onCompleted,
    onError,
  });
});
const [added] = shown();
await deletePet(environment, added, connection);
console.log(`${added.name} added, ${shown().length} left after its deletion`);
