import type { ExecutionResult, GraphQLFormattedError } from 'graphql';
import { AppError } from '../errors.ts';
import { INTERNAL_MESSAGE, publicError } from './refusal.ts';

/** An execution result as clients see it. */
export interface PublicResult {
  data?: Record<string, unknown> | null;
  errors?: GraphQLFormattedError[];
  extensions?: Record<string, unknown>;
  /** Seconds after which the refused part can succeed; for the Retry-After header, not for the body. */
  retryAfter?: number;
}

/** Told of errors that clients must not see. */
export type ErrorReporter = (error: unknown) => void;

/** Makes a result public: errors that nobody foresaw are reported here and told to nobody else. */
export function publicResult(result: ExecutionResult, report: ErrorReporter): PublicResult {
  if (!result.errors) return result as Omit<ExecutionResult, 'errors'>;
  let retryAfter: number | undefined;
  const errors = result.errors.map((error) => {
    const cause = error.originalError;
    if (cause instanceof AppError) {
      if (cause.status >= 500) report(cause);
      retryAfter ??= cause.retryAfter;
      return publicError(error, cause.code);
    }
    report(cause ?? error);
    return { ...publicError(error, 'INTERNAL'), message: INTERNAL_MESSAGE };
  });
  const masked: PublicResult = { errors, data: result.data ?? null };
  if (retryAfter !== undefined) masked.retryAfter = retryAfter;
  return masked;
}
