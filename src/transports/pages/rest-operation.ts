/** A REST operation as listed by the server: what it runs and how to call it. */
export interface RestOperation {
  operationId: string;
  tag: string;
  method: string;
  /** With the base path and parameters in braces. */
  path: string;
  summary: string;
  /** The GraphQL operation it runs. Its variables are named like the parameters, and `input` is the body. */
  document: string;
  /** Variables for trying it. */
  variables: Record<string, unknown>;
  /** Names of the query parameters. */
  query: string[];
}
