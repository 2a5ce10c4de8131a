/** A request to run elsewhere. It never contains the key. */
export interface Snippet {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  /** Shows a stream as it comes. */
  unbuffered?: boolean;
}

/** Placeholder for the key. */
export const KEY = '$KEY';

/** Replaces the key with the placeholder. */
export const withoutKey = (headers: Record<string, string>): Record<string, string> => ({
  'X-API-Key': KEY,
  ...Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(x-api-key|authorization)$/i.test(name)),
  ),
});

/** Formats a request for a POSIX shell with the key in `KEY`. */
export function asCurl({ method, url, headers, body, unbuffered = false }: Snippet): string {
  const lines = [
    `curl ${unbuffered ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) =>
      value === KEY ? `-H "${name}: ${KEY}"` : `-H ${quoted(`${name}: ${value}`)}`,
    ),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
