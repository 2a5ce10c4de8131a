import { parse, print } from 'graphql';
import { GRAPHQL_PATH } from '../../http/paths.ts';
import { bodyExample } from '../../openapi/schemas.ts';
import type { Route, Stream } from '../../rows/route.ts';
import { escapeHtml } from './html.ts';
import { GUIDES_PATH, OPENAPI_PATH } from './paths.ts';

/**
 * The operations as plain HTML: readable at once on a slow connection and without scripts, until the reference takes its
 * place. The ids are those of the reference, so that links lead to the same operation, and it takes over the links to
 * GraphiQL.
 *
 * @param basePath path prefix of the operations
 * @param graphiql whether there is a GraphiQL that shows the schema, to link to
 */
export function docsBody(
  operations: readonly (Route | Stream)[],
  basePath: string,
  graphiql: boolean,
): string {
  const section = (operation: Route | Stream): string => {
    const { operationId, method, path, tag, summary, description, stability, query = [] } = operation;
    const isDeprecated = 'deprecation' in operation && operation.deprecation !== undefined;
    const marks = [...(stability === 'stable' ? [] : [stability]), ...(isDeprecated ? ['deprecated'] : [])];
    const names = query.map(({ name }) => `<code>${escapeHtml(name)}</code>`).join(', ');
    const lines = [
      `<h3>${escapeHtml(summary)}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}</h3>`,
      `<p><span class="method">${method}</span> <code>${escapeHtml(basePath + path)}</code></p>`,
      description !== undefined && `<p>${escapeHtml(description)}</p>`,
      names !== '' && `<p>Query: ${names}</p>`,
      graphiql &&
        'document' in operation &&
        `<p><a class="to-graphiql" href="${escapeHtml(graphiqlLink(operation))}">Open in GraphiQL</a></p>`,
    ];
    return `<section id="tag/${tag}/${operationId}">\n${lines.filter((line) => line !== false).join('\n')}\n</section>`;
  };
  const sections = [...new Set(operations.map(({ tag }) => tag))].flatMap((tag) => [
    `<h2>${escapeHtml(tag)}</h2>`,
    ...operations.filter((operation) => operation.tag === tag).map(section),
  ]);
  return `<div id="main" tabindex="-1"><p id="loading" class="loading" role="status" hidden>Loading the reference …</p>
<div id="docs"><main class="plain">
<h1>Petstore REST API</h1>
<p>Every request needs an API key: <code>X-API-Key: KEY</code> or <code>Authorization: Bearer KEY</code>. Errors are
<code>{"code", "message", "status"}</code>. The whole description is <a href="${OPENAPI_PATH}">${OPENAPI_PATH}</a>, and the
<a href="${GUIDES_PATH}">guides</a> show how to use it.</p>
${sections.join('\n')}
</main></div></div>`;
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
  return `${GRAPHQL_PATH}?${new URLSearchParams(given)}`;
}
