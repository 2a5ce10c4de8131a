import { type DocumentNode, Kind, type OperationDefinitionNode, parse, print } from 'graphql';
import { getFragmentDependenciesForAST } from 'graphql-language-service';
import { stripComments } from 'jsonc-parser';
import { parse as parseJson, stringify } from 'lossless-json';
import { apiKey } from '../key.ts';

/** Adds what the run cost to the answer. */
const WITH_BUDGET = { 'X-RateLimit-Extension': 'on' };

/** What the pages send with each request to GraphQL. */
export const headersFor = (own: Record<string, unknown> = {}): Record<string, string> => ({
  'Content-Type': 'application/json',
  ...WITH_BUDGET,
  ...(apiKey.value && { 'X-API-Key': apiKey.value }),
  ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name, String(value)])),
});

/** The body of a request (GraphQL over HTTP); integers in variables stay as they were written. @throws SyntaxError */
export function bodyOf(query: string, variablesText: string, operationName?: string | null): string {
  return stringify({
    query,
    ...(operationName && { operationName }),
    ...(variablesText.trim() !== '' && { variables: variablesOf(variablesText) }),
  })!;
}

/** The variables as they were written, comments and trailing commas left out. @throws SyntaxError */
export const variablesOf = (text: string): Record<string, unknown> =>
  text.trim() === ''
    ? {}
    : (parseJson(stripComments(text).replace(/,(?=\s*[}\]])/g, '')) as Record<string, unknown>);

/** The operation at a position of a text: the one around it, else the last that begins before it, else the first. */
export function operationAt(document: DocumentNode, offset: number): OperationDefinitionNode | undefined {
  const operations = document.definitions.filter(
    (definition) => definition.kind === Kind.OPERATION_DEFINITION,
  );
  return operations.findLast(({ loc }) => loc && loc.start <= offset) ?? operations[0];
}

/** One operation with the fragments that it uses, written in the one way: how it was laid out makes no difference. */
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

/** @returns undefined while a text is no complete document */
export function parsed(text: string): DocumentNode | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}
