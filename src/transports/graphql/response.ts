import { publicError } from '../../execution/refusal.ts';
import type { AppError } from '../../foundation/errors.ts';
import { parseMediaRanges } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorHeaders, type HttpResponse } from '../../http/response.ts';

/** The methods of /graphql. */
export const METHODS = 'GET, HEAD, POST, QUERY, OPTIONS';

/** Media types of a response other than a stream; the first is the default. */
export const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'] as const;

export const STREAM_TYPE = 'text/event-stream';
/** Media types that clients may accept exclusively. */
export const STREAMED_TYPES = ['multipart/mixed', STREAM_TYPE];

/**
 * The media type among RESPONSE_TYPES that an Accept header prefers (RFC 9110 section 12.5.1), the first
 * named if several are equal; undefined if it accepts neither.
 */
export function responseType(accept: string | undefined): string | undefined {
  if (!accept || accept === '*/*' || accept === RESPONSE_TYPES[0]) return RESPONSE_TYPES[0];
  const ranges = parseMediaRanges(accept);
  const choices = RESPONSE_TYPES.flatMap((type) => {
    const place = ['application/*', '*/*'].reduce(
      (found, family) => (found < 0 ? ranges.findIndex((range) => range.type === family) : found),
      ranges.findIndex((range) => range.type === type),
    );
    const range = ranges[place];
    return range && range.quality > 0 ? [{ type, place, quality: range.quality }] : [];
  });
  choices.sort((a, b) => b.quality - a.quality || a.place - b.place);
  return choices[0]?.type;
}

/** The Content-Type of a response other than a stream. */
export const contentTypeFor = (accept: string | undefined): string =>
  `${responseType(accept) ?? RESPONSE_TYPES[0]}; charset=utf-8`;

/**
 * A response for an error before execution: `errors` without `data`, and the error's own HTTP status under
 * every Accept header.
 */
export const graphqlErrorResponse = (error: AppError, context: RequestContext): HttpResponse => ({
  status: error.status,
  headers: errorHeaders(error, METHODS),
  body: JSON.stringify({ errors: [publicError(error)] }),
  contentType: contentTypeFor(context.headers.accept),
});
