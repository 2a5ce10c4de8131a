import type { GraphQLFormattedError } from 'graphql';
import type { AppError, ErrorCode } from '../../foundation/errors.ts';
import { Negotiation } from '../../http/media-type.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorHeaders, type HttpResponse } from '../../http/response.ts';
import type { PreparedRequest } from '../../operations/prepared-request.ts';
import { OperationRefused, publicError } from '../../operations/result.ts';

/** The methods of /graphql. */
export const METHODS = 'GET, HEAD, POST, QUERY, OPTIONS';

/** Media types of a response other than a stream; the first is the default. */
export const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'] as const;

export const STREAM_TYPE = 'text/event-stream';

/** Chooses the media type of a response other than a stream. */
export const RESPONSES = new Negotiation(RESPONSE_TYPES);
/** Chooses the media type of a subscription, and of anything else for clients that accept no other. */
export const STREAMS = new Negotiation([STREAM_TYPE]);

/** The Content-Type of a response other than a stream, for a media type that was chosen. */
export const contentTypeFor = (type: string = RESPONSE_TYPES[0]): string => `${type}; charset=utf-8`;

/**
 * A response for an error before execution: `errors` without `data`, and the error's own HTTP status under
 * every Accept header.
 */
export const graphqlErrorResponse = (error: AppError, context: RequestContext): HttpResponse => ({
  status: error.status,
  headers: errorHeaders(error, METHODS),
  body: JSON.stringify({ errors: [publicError(error)] }),
  contentType: contentTypeFor(RESPONSES.choose(context.accept)),
});

/** Notes what a request asks for, for the log, metrics and traces. */
export function describe(context: RequestContext, { name, rootField, operations }: PreparedRequest): void {
  context.operation = rootField;
  context.operationName = name;
  const [first] = operations;
  if (first && !(first instanceof OperationRefused)) context.operationType = first.operation.operation;
}

/** Notes the errors of a response whose HTTP status may still be 200. */
export function noteErrors(context: RequestContext, errors: readonly GraphQLFormattedError[]): void {
  for (const { extensions } of errors) context.addError(extensions!.code as ErrorCode);
}
