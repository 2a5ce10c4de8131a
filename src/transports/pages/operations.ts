import { parse, print } from 'graphql';
import { bodyExample } from '../../openapi/schemas.ts';
import type { Route } from '../../rows/route.ts';
import type { RestOperation } from './rest-operation.ts';

/**
 * The REST operations with the GraphQL operations they run, so that the two pages can link to each other.
 *
 * @param basePath path prefix of the operations
 */
export const restOperations = (routes: readonly Route[], basePath: string): RestOperation[] =>
  routes.map((route) => ({
    operationId: route.operationId,
    tag: route.tag,
    method: route.method,
    path: basePath + route.path,
    summary: route.summary,
    document: `${print(parse(route.document))}\n`,
    variables: exampleOf(route),
    query: (route.query ?? []).map(({ name }) => name),
  }));

/** Variables for trying an operation: the first record and the body's example. */
function exampleOf({ pathParameter, pathValue, body, shape }: Route): Record<string, unknown> {
  const variables: Record<string, unknown> =
    pathParameter === undefined ? {} : { [pathParameter]: pathValue?.example ?? '1' };
  if (body && shape) variables.input = bodyExample(shape, body);
  return variables;
}
