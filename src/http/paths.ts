/** Serves GraphQL to programs and GraphiQL to browsers. */
export const GRAPHQL_PATH = '/graphql';
/** Prices a GraphQL request without running it. */
export const COST_PATH = '/graphql/cost';
/** Serves agents. */
export const MCP_PATH = '/mcp';
