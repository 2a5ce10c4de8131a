/** Serves GraphQL to programs and GraphiQL to browsers. */
export const GRAPHQL_PATH = '/graphql';
