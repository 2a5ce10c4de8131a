import { asCurl, KEY } from '../curl.ts';

/** A request sample as the `x-codeSamples` extension has it. */
export interface Sample {
  lang: string;
  label: string;
  source: string;
}

/** A REST call for the samples. */
interface SampleRequest {
  method: string;
  /** Absolute. */
  url: string;
  body?: unknown;
  accept?: string;
}

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

interface Described {
  requestBody?: { content?: Record<string, { example?: unknown }> };
  responses?: Record<string, { content?: Record<string, unknown> }>;
}

/**
 * Samples that run as they are, with the key in the environment variable `KEY`.
 *
 * @param url with path parameters in braces
 * @param examples values of the path parameters
 */
export function samplesOf(
  method: string,
  url: string,
  operation: object,
  examples: Readonly<Record<string, unknown>> = {},
): Sample[] {
  const { requestBody, responses } = operation as Described;
  const streams = responses?.['200']?.content?.[STREAM_TYPE] !== undefined;
  const request: SampleRequest = {
    method,
    url: url.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(examples[name] ?? 1)),
    body: requestBody?.content?.[JSON_TYPE]?.example,
    ...(streams && { accept: STREAM_TYPE }),
  };
  return [
    { lang: 'shell', label: 'curl', source: curl(request) },
    { lang: 'javascript', label: 'JavaScript', source: javaScript(request) },
    { lang: 'python', label: 'Python', source: python(request) },
  ];
}

const curl = ({ method, url, body, accept }: SampleRequest): string =>
  asCurl({
    method,
    url,
    headers: {
      'X-API-Key': KEY,
      ...(accept !== undefined && { Accept: accept }),
      ...(body !== undefined && { 'Content-Type': JSON_TYPE }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
    ...(accept !== undefined && { unbuffered: true }),
  });

function javaScript({ method, url, body, accept }: SampleRequest): string {
  const reading =
    accept === undefined
      ? ['console.log(response.status, await response.text());']
      : ['for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);'];
  return [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    "    'X-API-Key': process.env.KEY,",
    // Without it, JSON.parse rounds ids above 2^53.
    `    Accept: '${accept ?? `${JSON_TYPE};IEEE754Compatible=true`}',`,
    ...(body === undefined ? [] : [`    'Content-Type': '${JSON_TYPE}',`]),
    '  },',
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(javaScriptValue(body), '  ')}),`]),
    '});',
    ...reading,
  ].join('\n');
}

/** JSON with the keys unquoted that need no quotes. */
const javaScriptValue = (value: unknown): string =>
  JSON.stringify(value, null, 2).replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:');

function python({ method, url, body, accept }: SampleRequest): string {
  const headers = [
    '"X-API-Key": os.environ["KEY"]',
    ...(accept === undefined ? [] : [`"Accept": "${accept}"`]),
    ...(body === undefined ? [] : [`"Content-Type": "${JSON_TYPE}"`]),
  ];
  return [
    `import ${body === undefined ? '' : 'json, '}os, urllib.error, urllib.request`,
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    `    headers={${headers.join(', ')}},`,
    ...(body === undefined ? [] : [`    data=json.dumps(${indented(pythonValue(body), '    ')}).encode(),`]),
    ')',
    'try:',
    '    with urllib.request.urlopen(request) as response:',
    ...(accept === undefined
      ? ['        print(response.status, response.read().decode())']
      : ['        for line in response:', '            print(line.decode(), end="")']),
    'except urllib.error.HTTPError as error:',
    '    print(error.code, error.read().decode())',
  ].join('\n');
}

/** A Python literal: JSON but for three names. */
const pythonValue = (value: unknown): string =>
  JSON.stringify(value, null, 4).replaceAll(
    /("(?:[^"\\]|\\.)*")|\b(?:true|false|null)\b/g,
    (match, text?: string) => text ?? { true: 'True', false: 'False', null: 'None' }[match]!,
  );

const indented = (text: string, by: string): string => text.replaceAll('\n', `\n${by}`);
