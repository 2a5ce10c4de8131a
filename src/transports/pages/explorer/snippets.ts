import { indentExactly } from './exact-json.ts';

/** A request to run elsewhere. It never contains the key. */
export interface Snippet {
  method: string;
  url: string;
  headers: Record<string, string>;
  /** JSON. */
  body?: string | undefined;
  /** Shows a stream as it comes. */
  isStream?: boolean;
}

/** Placeholder for the key, which is in the environment variable `KEY`. */
export const KEY = '$KEY';

/** Replaces the key with the placeholder. */
export const withoutKey = (headers: Record<string, string>): Record<string, string> => ({
  'X-API-Key': KEY,
  ...Object.fromEntries(
    Object.entries(headers).filter(([name]) => !/^(x-api-key|authorization)$/i.test(name)),
  ),
});

/** Formats a request for a POSIX shell. */
export function asCurl({ method, url, headers, body, isStream = false }: Snippet): string {
  const lines = [
    `curl ${isStream ? '-N ' : ''}${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) =>
      value === KEY ? `-H "${name}: ${KEY}"` : `-H ${quoted(`${name}: ${value}`)}`,
    ),
    ...(body === undefined ? [] : [`--data-raw ${quoted(body)}`]),
  ];
  return lines.join(' \\\n  ');
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The headers as the entries of a literal. @param key how the language reads the key */
const entriesOf = (headers: Record<string, string>, key: string): string[] =>
  Object.entries(headers).map(
    ([name, value]) => `${JSON.stringify(name)}: ${value === KEY ? key : JSON.stringify(value)},`,
  );

/** Formats a request for Node. */
export function asFetch({ method, url, headers, body, isStream = false }: Snippet): string {
  // Indented again without parsing, which would round integers.
  const json = body === undefined ? undefined : indentExactly(body).replaceAll('\n', '\n  ');
  const isExact = json === undefined || !/(?<![\w".])\d{16,}/.test(json);
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    `  method: ${JSON.stringify(method)},`,
    '  headers: {',
    ...entriesOf(headers, 'process.env.KEY').map((entry) => `    ${entry}`),
    '  },',
    // A literal beyond 2^53 would be rounded, so such a body stays text.
    ...(json === undefined ? [] : [`  body: ${isExact ? `JSON.stringify(${json})` : JSON.stringify(body)},`]),
    '});',
    isStream
      ? 'for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);'
      : 'console.log(response.status, await response.text());',
    '',
  ].join('\n');
}

/** Formats a request for Python without further packages. */
export function asPython({ method, url, headers, body, isStream = false }: Snippet): string {
  return [
    'import os, urllib.error, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method=${JSON.stringify(method)},`,
    '    headers={',
    ...entriesOf(headers, 'os.environ["KEY"]').map((entry) => `        ${entry}`),
    '    },',
    ...(body === undefined ? [] : [`    data=r"""${indentExactly(body)}""".encode(),`]),
    ')',
    'try:',
    '    with urllib.request.urlopen(request) as response:',
    ...(isStream
      ? ['        for line in response:', '            print(line.decode(), end="")']
      : ['        print(response.status, response.read().decode())']),
    'except urllib.error.HTTPError as error:',
    '    print(error.code, error.read().decode())',
  ].join('\n');
}
