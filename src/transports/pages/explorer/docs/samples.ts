import { asCurl, KEY } from '../curl.ts';

/** A REST call for the samples. */
export interface SampleRequest {
  method: string;
  /** Absolute. */
  url: string;
  /** JSON. */
  body?: string | undefined;
}

const CONTENT_TYPE = 'application/json';

const curl = ({ method, url, body }: SampleRequest): string =>
  asCurl({
    method,
    url,
    headers: { 'X-API-Key': KEY, ...(body !== undefined && { 'Content-Type': CONTENT_TYPE }) },
    body,
  });

function javaScript({ method, url, body }: SampleRequest): string {
  const hasResponseBody = method !== 'DELETE';
  const lines = [
    `const response = await fetch(${JSON.stringify(url)}, {`,
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    "    'X-API-Key': process.env.KEY,",
    // Without it, JSON.parse rounds ids above 2^53.
    ...(hasResponseBody ? [`    Accept: '${CONTENT_TYPE};IEEE754Compatible=true',`] : []),
    ...(body === undefined ? [] : [`    'Content-Type': '${CONTENT_TYPE}',`]),
    '  },',
    ...(body === undefined ? [] : [`  body: ${JSON.stringify(body)},`]),
    '});',
    hasResponseBody
      ? 'console.log(response.status, await response.json());'
      : 'console.log(response.status);',
  ];
  return lines.join('\n');
}

function python({ method, url, body }: SampleRequest): string {
  const hasResponseBody = method !== 'DELETE';
  const lines = [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    ${JSON.stringify(url)},`,
    `    method="${method}",`,
    `    headers={"X-API-Key": os.environ["KEY"]${body === undefined ? '' : `, "Content-Type": "${CONTENT_TYPE}"`}},`,
    ...(body === undefined ? [] : [`    data=${JSON.stringify(body)}.encode(),`]),
    ')',
    'with urllib.request.urlopen(request) as response:',
    hasResponseBody ? '    print(response.status, json.load(response))' : '    print(response.status)',
  ];
  return lines.join('\n');
}

/** The languages of the samples and their formatters. */
export const LANGUAGES: readonly { name: string; write: (request: SampleRequest) => string }[] = [
  { name: 'curl', write: curl },
  { name: 'JavaScript', write: javaScript },
  { name: 'Python', write: python },
];
