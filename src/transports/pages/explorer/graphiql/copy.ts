import { KEY, type Snippet, withoutKey } from '../curl.ts';
import { indentExactly } from '../exact-json.ts';
import { headersFor } from './request.ts';

/** The request that runs an operation, with the headers of its tab. */
export const graphqlSnippet = (body: string, own: Record<string, unknown>): Snippet => {
  const { 'X-RateLimit-Extension': _ours, ...headers } = headersFor(own);
  return { method: 'POST', url: `${location.origin}/graphql`, headers: withoutKey(headers), body };
};

/** Formats a request for Node, with the key in the environment variable `KEY`. */
export function asFetch({ method, url, headers, body }: Snippet): string {
  const lines = Object.entries(headers).map(
    ([name, value]) =>
      `    ${JSON.stringify(name)}: ${value === KEY ? 'process.env.KEY' : JSON.stringify(value)},`,
  );
  // Indented again without parsing, which would round integers.
  const json = body === undefined ? undefined : indentExactly(body).replaceAll('\n', '\n  ');
  const isExact = json === undefined || !/(?<![\w".])\d{16,}/.test(json);
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: ${JSON.stringify(method)},`,
    '  headers: {',
    ...lines,
    '  },',
    // A literal beyond 2^53 would be rounded, so such a body stays text.
    ...(json === undefined ? [] : [`  body: ${isExact ? `JSON.stringify(${json})` : JSON.stringify(body)},`]),
    '});',
    'console.log(response.status, await response.json());',
    '',
  ].join('\n');
}
