import type { Route, Stream } from '../../rows/route.ts';
import { escapeHtml } from './html.ts';
import { OPENAPI_PATH } from './paths.ts';

/**
 * The operations as plain HTML: readable at once on a slow connection and without scripts, until the
 * reference takes its place. The ids are those of the reference, so that links lead to the same operation.
 *
 * @param basePath path prefix of the operations
 */
export function docsBody(operations: readonly (Route | Stream)[], basePath: string): string {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  const sections = tags.map(
    (tag) => `<h2>${escapeHtml(tag)}</h2>
${operations
  .filter((operation) => operation.tag === tag)
  .map((operation) => section(operation, basePath))
  .join('\n')}`,
  );
  return `<div id="main" tabindex="-1"><div id="docs"><main class="plain">
<h1>Petstore REST API</h1>
<p>Every request needs an API key: <code>X-API-Key: KEY</code> or <code>Authorization: Bearer KEY</code>. Errors are
<code>{"code", "message", "status"}</code>. The whole description is <a href="${OPENAPI_PATH}">${OPENAPI_PATH}</a>.</p>
${sections.join('\n')}
</main></div></div>`;
}

function section(operation: Route | Stream, basePath: string): string {
  const { operationId, method, path, tag, summary, description, stability, query = [] } = operation;
  const marks = [
    ...(stability === 'stable' ? [] : [stability]),
    ...('deprecation' in operation && operation.deprecation ? ['deprecated'] : []),
  ];
  const names = query.map(({ name }) => `<code>${escapeHtml(name)}</code>`).join(', ');
  return `<section id="tag/${tag}/${operationId}">
<h3>${escapeHtml(summary)}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}</h3>
<p><span class="method">${method}</span> <code>${escapeHtml(basePath + path)}</code></p>
${description === undefined ? '' : `<p>${escapeHtml(description)}</p>\n`}${
  names === '' ? '' : `<p>Query: ${names}</p>\n`
}</section>`;
}
