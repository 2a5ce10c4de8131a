import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { AppError, clipped, ERRORS, type ErrorCode } from '../foundation/errors.ts';

/** Thrown for an operation that cannot run, with the `errors` to send. All of them have status 400. */
export class OperationRefused extends Error {
  readonly errors: readonly GraphQLFormattedError[];

  constructor(errors: readonly GraphQLFormattedError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/** Refuses an operation for a single reason. */
export const refused = (code: ErrorCode, message: string) =>
  new OperationRefused([publicError(new AppError(code, message))]);

/** @param why what the operation has too much of: `is nested …` */
export const tooComplex = (why: string) => new AppError('QUERY_TOO_COMPLEX', `The operation ${why}.`);

/** Formats one entry of `errors`, with code and status from the error table. */
export function publicError(
  error: GraphQLError | AppError,
  fallback: ErrorCode = 'INTERNAL',
): GraphQLFormattedError {
  // In compiled code, errors have extensions only if the thrown error did.
  const given = error.extensions?.code as ErrorCode | undefined;
  const code = given !== undefined && Object.hasOwn(ERRORS, given) ? given : fallback;
  const formatted: { -readonly [K in keyof GraphQLFormattedError]: GraphQLFormattedError[K] } = {
    message: error instanceof GraphQLError && !error.originalError ? clipped(error.message) : error.message,
  };
  if (error instanceof GraphQLError) {
    if (error.locations) formatted.locations = error.locations;
    if (error.path) formatted.path = error.path;
  }
  formatted.extensions = { code, status: ERRORS[code].status };
  const { fields } = error.extensions ?? {};
  if (fields !== undefined) formatted.extensions.fields = fields;
  return formatted;
}
