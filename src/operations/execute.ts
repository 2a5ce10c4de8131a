import type { ExecutionResult, GraphQLFormattedError } from 'graphql';
import { AppError, ERRORS, MAX_LISTED_ISSUES } from '../foundation/errors.ts';
import type { MutationResult } from './mutation.ts';
import { publicError } from './refusal.ts';

/** An execution result as sent to clients. */
export interface PublicResult {
  data?: Record<string, unknown> | null;
  errors?: GraphQLFormattedError[];
  extensions?: Record<string, unknown>;
  /** Seconds until a retry can succeed. Sent as Retry-After rather than in the body. */
  retryAfter?: number;
}

/** Receives errors that clients must not see, with the id of the request that they failed. */
export type ErrorReporter = (error: unknown, requestId?: string) => void;

/** Prepares a result for clients. Unexpected errors are reported and masked. */
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
