import { asCurl, asFetch, asPython, KEY } from '../snippets.ts';

/** A request sample as the `x-codeSamples` extension has it. */
export interface Sample {
  lang: string;
  label: string;
  source: string;
}

const JSON_TYPE = 'application/json';
const STREAM_TYPE = 'text/event-stream';

interface Described {
  requestBody?: { content?: Record<string, { example?: unknown }> };
  responses?: Record<string, { content?: Record<string, unknown> }>;
}

/**
 * Samples that run as they are.
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
  const example = requestBody?.content?.[JSON_TYPE]?.example;
  const isStream = responses?.['200']?.content?.[STREAM_TYPE] !== undefined;
  const sample = (accept: string | undefined) => ({
    method,
    url: url.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(examples[name] ?? 1)),
    headers: {
      'X-API-Key': KEY,
      ...(accept !== undefined && { Accept: accept }),
      ...(example !== undefined && { 'Content-Type': JSON_TYPE }),
    },
    body: example === undefined ? undefined : JSON.stringify(example),
    isStream,
  });
  const request = sample(isStream ? STREAM_TYPE : undefined);
  // In JavaScript, JSON.parse rounds ids above 2^53.
  const exact = isStream ? request : sample(`${JSON_TYPE};IEEE754Compatible=true`);
  return [
    { lang: 'shell', label: 'curl', source: asCurl(request) },
    { lang: 'javascript', label: 'JavaScript', source: asFetch(exact) },
    { lang: 'python', label: 'Python', source: asPython(request) },
  ];
}
