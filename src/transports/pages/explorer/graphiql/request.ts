import { type DocumentNode, Kind, type OperationDefinitionNode, parse } from 'graphql';

/** The headers of GraphiQL's requests. */
export const headersFor = (own: Record<string, unknown> = {}): Record<string, string> => ({
  'Content-Type': 'application/json',
  // Requests the cost of the run in the response.
  'X-RateLimit-Extension': 'on',
  ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name, String(value)])),
});

/** Builds a request body (GraphQL over HTTP). Integers in variables are exact if they were parsed so. */
export const bodyOf = (query: string, variables?: object, operationName?: string | null): string =>
  JSON.stringify({ query, operationName: operationName ?? undefined, variables });

/** The operation at a position: the last one that starts before it, else the first. */
export function operationAt(document: DocumentNode, offset: number): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  return operations.findLast(({ loc }) => loc && loc.start <= offset) ?? operations[0];
}

/** @returns undefined if the text is not a complete document */
export function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
