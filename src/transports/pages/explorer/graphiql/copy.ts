import { type Snippet, withoutKey } from '../curl.ts';
import { headersFor } from './request.ts';

/** The request that runs an operation, with the headers of its tab. */
export const graphqlSnippet = (body: string, own: Record<string, unknown>): Snippet => {
  const { 'X-RateLimit-Extension': _ours, ...headers } = headersFor(own);
  return { method: 'POST', url: `${location.origin}/graphql`, headers: withoutKey(headers), body };
};

/** Formats a request for browsers and Node, with `$KEY` to be replaced. */
export const asFetch = ({
  method,
  url,
  headers,
  body,
}: Snippet): string => `const response = await fetch(${JSON.stringify(url)}, ${JSON.stringify(
  { method, headers, ...(body !== undefined && { body }) },
  null,
  2,
)});
console.log(await response.json());
`;

/** @returns whether the text was copied */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/**
 * Fallback for pages loaded over plain HTTP from another machine, where scripts cannot use the clipboard API.
 */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  return isCopied;
}
