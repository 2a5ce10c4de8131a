/** A REST operation as the server lists it: what it runs, and how to call it. */
export interface RestOperation {
  operationId: string;
  tag: string;
  method: string;
  /** With the base path; parameters stand in braces. */
  path: string;
  summary: string;
  /** The GraphQL operation that it runs; its variables bear the names of the parameters, and `input` for the body. */
  document: string;
  /** Variables to try it with. */
  variables: Record<string, unknown>;
  /** Names of the query parameters. */
  query: string[];
}
