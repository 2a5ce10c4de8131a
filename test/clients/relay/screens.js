// What a Relay application would have in its components. The tests let relay-compiler make its artifacts of it.
import { graphql } from 'relay-runtime';

export const records = graphql`
  query screensRecordsQuery($pet: ID!, $category: ID!, $order: ID!) {
    pet(id: $pet) {
      id
      name
      inventory {
        id
        quantity
      }
    }
    category(id: $category) {
      id
      name
    }
    order(id: $order) {
      id
      complete
    }
  }
`;

export const categories = graphql`
  query screensCategoriesQuery($count: Int!, $cursor: String) {
    categories(first: $count, after: $cursor) @connection(key: "screens_categories") {
      edges {
        node {
          name
          ...screensPets
        }
      }
    }
  }
`;

export const pets = graphql`
  fragment screensPets on Category
  @argumentDefinitions(count: { type: "Int", defaultValue: 1 }, cursor: { type: "String" })
  @refetchable(queryName: "screensPetsPaginationQuery") {
    name
    pets(first: $count, after: $cursor) @connection(key: "screens_pets") {
      edges {
        node {
          name
        }
      }
    }
  }
`;

export const rename = graphql`
  mutation screensRenameMutation($id: ID!, $name: String!) {
    updatePet(id: $id, input: { name: $name }) {
      name
    }
  }
`;
