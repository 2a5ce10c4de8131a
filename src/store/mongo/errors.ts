import {
  MongoError,
  MongoErrorLabel,
  MongoInvalidArgumentError,
  MongoParseError,
  MongoServerError,
} from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';

/** A concurrent write changed what this attempt had read. Nothing was written, and another attempt may succeed. */
export const writeConflict = (cause?: unknown): MongoServerError =>
  new MongoServerError({
    message: 'Lost to a concurrent write.',
    code: 112,
    errorLabels: [MongoErrorLabel.TransientTransactionError],
    ...(cause !== undefined && { cause }),
  });

/** Server errors that a later attempt has too: the request is wrong, or not permitted. */
const LASTING_CODES = new Set<unknown>([
  2, // BadValue
  13, // Unauthorized
  18, // AuthenticationFailed
  67, // CannotCreateIndex: a unique one, on a sharded collection
  85, // IndexOptionsConflict
  86, // IndexKeySpecsConflict
  8000, // AtlasError
  11000, // DuplicateKey
]);

/** Whether the database could not be reached or did not respond in time, so that the call may succeed later. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof MongoServerError) return !LASTING_CODES.has(error.code);
  if (error instanceof MongoParseError || error instanceof MongoInvalidArgumentError) return false;
  return error instanceof MongoError;
}

/** Translates an error for the port: UNAVAILABLE if the database is unreachable, otherwise unchanged. */
export const portError = (error: unknown): unknown => (isUnavailable(error) ? unavailable(error) : error);

const hasCode =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof MongoServerError && error.code === code;

/** Whether a document with this key already exists. */
export const isDuplicateKey = hasCode(11000);

/** For writes that another instance may have made first. */
export function ignoreDuplicate(error: unknown): void {
  if (!isDuplicateKey(error)) throw error;
}

/** For collections that another instance may have created first. */
export function ignoreExisting(error: unknown): void {
  if (!hasCode(48)(error)) throw error;
}

/** Whether the user lacks the privilege. */
export const isUnauthorized = hasCode(13);

/** Whether the server aborted the command at its time limit. */
export const isTimeExpired = hasCode(50);

/** Whether the log no longer has the events after a position. */
export const isHistoryLost = hasCode(286);

/** BadValue, FailedToParse, TypeMismatch, InvalidResumeToken, and ChangeStreamFatalError of a token that is not found. */
const TOKEN_CODES = new Set<unknown>([2, 9, 14, 260, 280]);
/** Beyond the codes with names (error_codes.yml), places in the server's source: most checks of a token have one. */
const FIRST_PLACE = 20_000;

/** Whether a change stream was refused for the token it was to begin at, rather than for what the server is doing. */
export const isOfToken = (error: unknown): boolean =>
  error instanceof MongoServerError && (TOKEN_CODES.has(error.code) || Number(error.code) >= FIRST_PLACE);

/** Whether a transaction failed that may succeed if it is retried. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel(MongoErrorLabel.TransientTransactionError);
