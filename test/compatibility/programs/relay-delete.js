import { commitMutation, ConnectionHandler, graphql } from "relay-runtime";

/** Deletes a pet, and takes it out of a connection and the store. */
export function deletePet(environment, pet, connectionId) {
  return new Promise((resolve, reject) => {
    commitMutation(environment, {
      mutation: graphql`
        mutation relayDeleteMutation($id: ID!) {
          deletePet(id: $id)
        }
      `,
      variables: { id: pet.id },
      updater(store) {
        ConnectionHandler.deleteNode(store.get(connectionId), pet.nodeId);
        store.delete(pet.nodeId);
      },
      onCompleted: (_response, errors) => (errors ? reject(new Error(errors[0].message)) : resolve()),
      onError: reject,
    });
  });
}
