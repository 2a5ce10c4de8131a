// What an application has in its components. The tests make manifests of it.
import { gql } from '@apollo/client';

export const Screen = gql`
  query Screen($id: ID!) {
    category(id: $id) {
      id
      pets(first: 2) {
        nodes {
          ...Names
        }
      }
    }
  }

  fragment Names on Pet {
    id
    name
  }
`;

export const Rename = gql`
  mutation Rename($id: ID!, $name: String!) {
    updatePet(id: $id, input: { name: $name }) {
      id
      name
    }
  }
`;
