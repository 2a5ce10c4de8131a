/** Where GraphQL is served: to programs over HTTP, and as GraphiQL to browsers. */
export const GRAPHQL_PATH = '/graphql';
