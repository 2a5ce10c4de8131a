import {
  type ExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  isEnumType,
} from 'graphql';
import { AppError, clipped, ERRORS, type ErrorCode, MAX_LISTED_ISSUES } from '../foundation/errors.ts';

/** An execution result as sent to clients. */
export interface PublicResult {
  data?: Record<string, unknown> | null;
  errors?: GraphQLFormattedError[];
  extensions?: Record<string, unknown>;
  /** Seconds until a retry can succeed. Sent as Retry-After, not in the body. */
  retryAfter?: number;
}

/** The result of a mutation. */
export interface MutationResult extends ExecutionResult {
  /** True if its writes are committed despite errors. */
  committed?: boolean;
}

/** Receives errors that clients must not see, with the id of the failed request. */
export type ErrorReporter = (error: unknown, requestId?: string) => void;

/** Prepares a result for clients: reports and masks unexpected errors. */
export function publicResult(
  result: MutationResult,
  report: ErrorReporter,
  requestId?: string,
): PublicResult {
  if (!result.errors) return result as Omit<ExecutionResult, 'errors'>;
  let retryAfter: number | undefined;
  const errors = result.errors.slice(0, MAX_LISTED_ISSUES).map((error) => {
    const cause = error.originalError;
    if (cause instanceof AppError) {
      if (cause.status >= 500) report(cause, requestId);
      retryAfter ??= cause.retryAfter;
      return publicError(error, cause.code);
    }
    report(cause ?? error, requestId);
    return { ...publicError(error, 'INTERNAL'), message: ERRORS.INTERNAL.when };
  });
  if (result.committed) for (const error of errors) error.extensions!.committed = true;
  const masked: PublicResult = { errors, data: result.data ?? null };
  if (retryAfter !== undefined) masked.retryAfter = retryAfter;
  return masked;
}

/** Thrown for an operation that cannot run, with the `errors` to send, all of status 400. */
export class OperationRefused extends Error {
  readonly errors: readonly GraphQLFormattedError[];

  constructor(errors: readonly GraphQLFormattedError[]) {
    super(errors[0]?.message);
    this.errors = errors;
  }
}

/** @param why the exceeded limit, as in `is nested …` */
export const tooComplex = (why: string) => new AppError('QUERY_TOO_COMPLEX', `The operation ${why}.`);

/** Adds the values of an enum to a message of graphql-js that names none. */
export function namingValues(schema: GraphQLSchema, message: string): string {
  const type = schema.getType(/ in "(\w+)" enum\.$/.exec(message)?.[1] ?? '');
  if (!isEnumType(type)) return message;
  const names = type.getValues().map(({ name }) => name);
  return message.replace(/\.$/, ` (known: ${names.join(', ')}).`);
}

/** Formats an entry of `errors`, with code and status from the error table. */
export function publicError(
  error: GraphQLError | AppError,
  fallback: ErrorCode = 'INTERNAL',
): GraphQLFormattedError {
  // In compiled code, errors have extensions only if the thrown error did.
  const ownCode = error.extensions?.code as ErrorCode | undefined;
  const code = ownCode !== undefined && Object.hasOwn(ERRORS, ownCode) ? ownCode : fallback;
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
