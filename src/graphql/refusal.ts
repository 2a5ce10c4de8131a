import { GraphQLError, type GraphQLFormattedError } from 'graphql';
import { AppError, ERRORS, type ErrorCode } from '../errors.ts';

export const INTERNAL_MESSAGE = 'Something went wrong on our side.';

/** Thrown for an operation that can't run: `errors` is what the client gets, all of status 400. */
export class OperationRefused extends Error {
  readonly errors: readonly GraphQLFormattedError[];

  constructor(errors: readonly GraphQLFormattedError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/** An operation refused for one reason. */
export const refused = (code: ErrorCode, message: string) =>
  new OperationRefused([publicError(new AppError(code, message))]);

/** @param why what an operation does too much of: `is nested …` */
export const tooComplex = (why: string) => new AppError('QUERY_TOO_COMPLEX', `The operation ${why}.`);

/** One entry of `errors`, with code and status of the one table. */
export function publicError(
  error: GraphQLError | AppError,
  fallback: ErrorCode = 'INTERNAL',
): GraphQLFormattedError {
  // The errors of compiled code have extensions only if what was thrown has.
  const given = error.extensions?.code as ErrorCode | undefined;
  const code = given !== undefined && Object.hasOwn(ERRORS, given) ? given : fallback;
  const formatted: { -readonly [K in keyof GraphQLFormattedError]: GraphQLFormattedError[K] } = {
    message: error.message,
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
