import { parse, print } from 'graphql';
import { bodyExample } from '../../openapi/schemas.ts';
import type { Route } from '../../rows/route.ts';

/**
 * The operations by tag, for the list that is readable at once and without scripts, until the reference takes its place.
 *
 * @param graphiql whether there is a GraphiQL that shows the schema, to link to
 */
export function operationsByTag(operations: readonly Route[], graphiql: boolean) {
  const listed = operations.map((operation) => {
    const { stability, query = [], deprecation } = operation;
    const marks = [...(stability === 'stable' ? [] : [stability]), ...(deprecation ? ['deprecated'] : [])];
    return {
      ...operation,
      marks: marks.length > 0 ? ` (${marks.join(', ')})` : '',
      query: query.map(({ name }) => name),
      link: graphiql && graphiqlLink(operation),
    };
  });
  const tags = new Set(operations.map(({ tag }) => tag));
  return [...tags].map((name) => ({ name, operations: listed.filter(({ tag }) => tag === name) }));
}

/** Leads to the GraphQL operation that a REST operation runs, with variables for trying it: the first record, the example. */
function graphiqlLink({ document, pathParameter, pathValue, body, shape }: Route): string {
  const variables: Record<string, unknown> =
    pathParameter === undefined ? {} : { [pathParameter]: pathValue?.example ?? '1' };
  if (body && shape) variables.input = bodyExample(shape, body);
  const isEmpty = Object.keys(variables).length === 0;
  const given = {
    query: `${print(parse(document))}\n`,
    ...(!isEmpty && { variables: `${JSON.stringify(variables, null, 2)}\n` }),
  };
  return `/graphql?${new URLSearchParams(given)}`;
}
