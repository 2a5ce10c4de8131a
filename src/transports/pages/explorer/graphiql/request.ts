import { type DocumentNode, Kind, type OperationDefinitionNode, parse, print } from 'graphql';
import { getFragmentDependenciesForAST } from 'graphql-language-service';
import { stripComments } from 'jsonc-parser';
import { parse as parseJson, stringify } from 'lossless-json';
import { apiKey } from '../key.ts';

/** Requests the cost of the run in the response. */
const WITH_BUDGET = { 'X-RateLimit-Extension': 'on' };

/** The headers of the pages' GraphQL requests. */
export const headersFor = (own: Record<string, unknown> = {}): Record<string, string> => ({
  'Content-Type': 'application/json',
  ...WITH_BUDGET,
  ...(apiKey.value && { 'X-API-Key': apiKey.value }),
  ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name, String(value)])),
});

/** Builds a request body (GraphQL over HTTP), keeping integers in variables exact. @throws SyntaxError */
export function bodyOf(query: string, variablesText: string, operationName?: string | null): string {
  return stringify({
    query,
    ...(operationName && { operationName }),
    ...(variablesText.trim() !== '' && { variables: variablesOf(variablesText) }),
  })!;
}

/** Parses variables exactly, allowing comments and trailing commas. @throws SyntaxError */
export const variablesOf = (text: string): Record<string, unknown> =>
  text.trim() === ''
    ? {}
    : (parseJson(stripComments(text).replace(/,(?=\s*[}\]])/g, '')) as Record<string, unknown>);

/** The operation at a position: the last one that starts before it, else the first. */
export function operationAt(document: DocumentNode, offset: number): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  return operations.findLast(({ loc }) => loc && loc.start <= offset) ?? operations[0];
}

/** Prints an operation with its fragments in canonical form, independent of layout. */
export function canonical(document: DocumentNode, operation: OperationDefinitionNode): string {
  const fragments = new Map(
    document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((definition) => [definition.name.value, definition]),
  );
  const used = getFragmentDependenciesForAST(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments.values()] },
    fragments,
  );
  return print({ kind: Kind.DOCUMENT, definitions: [operation, ...new Set(used)] });
}

/** @returns undefined if the text is not a complete document */
export function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
