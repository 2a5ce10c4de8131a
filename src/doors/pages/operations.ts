import { parse, print } from 'graphql';
import type { Route } from '../../domains/route.ts';
import { bodyExample } from '../../openapi/schemas.ts';
import type { RestOperation } from './rest-operation.ts';

/**
 * The REST operations with the GraphQL operations that they run, so that each page can lead to its counterpart on the other.
 *
 * @param basePath where the operations are served
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

/** Variables to try an operation with: the first record, and the example of the body. */
function exampleOf({ pathParameter, body, shape }: Route): Record<string, unknown> {
  const variables: Record<string, unknown> = pathParameter === undefined ? {} : { [pathParameter]: '1' };
  if (body && shape) {
    // Fields that a REST body may only repeat are none of the mutation's.
    const repeated = new Set(body.mirrors);
    variables.input = Object.fromEntries(
      Object.entries(bodyExample(shape, body)).filter(([field]) => !repeated.has(field)),
    );
  }
  return variables;
}
