import type { GraphQLFormattedError } from 'graphql';
import { AppError, type ErrorCode, validationFailed } from '../../foundation/errors.ts';
import { readBody } from '../../http/body.ts';
import { STREAM_TYPE } from '../../http/event-stream.ts';
import { parseJson } from '../../http/parse-json.ts';
import { Negotiation } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorHeaders, type HttpResponse } from '../../http/response.ts';
import type { PreparedRequest } from '../../graphql/prepared-request.ts';
import { OperationRefused, publicError } from '../../graphql/result.ts';
import { textsIn } from '../input.ts';

/** The methods of /graphql. */
export const METHODS = 'GET, HEAD, POST, QUERY, OPTIONS';

/** The media types of a response, except for streams; the first is the default. */
export const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'] as const;

/** Chooses the media type of a response, except for streams. */
export const RESPONSES = new Negotiation(RESPONSE_TYPES);
/** Chooses the media type of a subscription, and of any response for clients that accept no other. */
export const STREAMS = new Negotiation([STREAM_TYPE]);

/** The Content-Type for a chosen media type, except for streams. */
export const contentTypeFor = (type: string = RESPONSE_TYPES[0]): string => `${type}; charset=utf-8`;

/** The response to an error before execution: `errors` without `data`, with its HTTP status for every Accept. */
export const graphqlErrorResponse = (error: AppError, context: RequestContext): HttpResponse => ({
  status: error.status,
  headers: errorHeaders(error, METHODS),
  body: JSON.stringify({ errors: [publicError(error)] }),
  contentType: contentTypeFor(RESPONSES.choose(context.accept)),
});

/** Records the operation of a request, for the log, metrics and traces. */
export function describe(context: RequestContext, { name, rootField, operations }: PreparedRequest): void {
  context.operation = rootField;
  context.operationName = name;
  const [first] = operations;
  if (first && !(first instanceof OperationRefused)) context.operationType = first.operation.operation;
}

/** Records the errors of a response, whose HTTP status may be 200. */
export function noteErrors(context: RequestContext, errors: readonly GraphQLFormattedError[]): void {
  for (const { extensions, message } of errors) context.addError(extensions!.code as ErrorCode, message);
}

/** The media types of a request body. */
export const BODY_TYPES = ['application/json', 'application/graphql+json'];

/** Reads a body without rounding integers. @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST */
export async function readParameters(context: RequestContext): Promise<unknown> {
  if (context.headers['content-type'] === undefined && context.method === 'QUERY') {
    // A QUERY must have a media type, since its meaning depends on it (RFC 10008). A POST defaults to JSON.
    throw new AppError('BAD_REQUEST', `A QUERY needs a Content-Type: ${BODY_TYPES.join(' or ')}.`);
  }
  const body = await readBody(context, BODY_TYPES);
  return parseJson(body, undefined, ' A request is {"query": "{ pets { nodes { id } } }"}.');
}

/**
 * Reads the parameters of a URL without rounding integers.
 *
 * @throws VALIDATION_FAILED if one is repeated, BAD_REQUEST if the percent-encoding is broken, or variables or extensions
 * are not JSON
 */
export function readQueryString(query: string): Record<string, unknown> {
  const texts = textsIn(query);
  const text = (name: string) => {
    const [value, ...more] = texts.get(name) ?? [];
    if (more.length > 0) throw validationFailed([{ path: name, message: 'must not be repeated' }]);
    return value;
  };
  const json = (name: string) => {
    const value = text(name);
    return value ? parseJson(Buffer.from(value), `The parameter ${name}`) : undefined;
  };
  return {
    query: text('query'),
    documentId: text('documentId'),
    operationName: text('operationName'),
    variables: json('variables'),
    extensions: json('extensions'),
  };
}
