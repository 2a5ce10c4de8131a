/** A request to be run somewhere else. The key is never part of it. */
export interface Snippet {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

/** Stands for the key. */
export const KEY = '$KEY';

/** Headers with what stands for the key in its place. */
export const withoutKey = (headers: Record<string, string>): Record<string, string> => ({
  'X-API-Key': KEY,
  ...Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(x-api-key|authorization)$/i.test(name)),
  ),
});

/** For a POSIX shell that has the key in `KEY`. */
export function asCurl({ method, url, headers, body }: Snippet): string {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) =>
      value === KEY ? `-H "${name}: ${KEY}"` : `-H ${quoted(`${name}: ${value}`)}`,
    ),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
