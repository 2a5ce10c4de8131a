import {
  MongoCompatibilityError,
  MongoError,
  MongoErrorLabel,
  MongoInvalidArgumentError,
  MongoMissingDependencyError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
  TopologyType,
} from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';

/** The error for an attempt that lost to a concurrent write. Nothing was written; another attempt may succeed. */
export const writeConflict = (cause?: unknown): MongoServerError =>
  new MongoServerError({
    message: 'Lost to a concurrent write.',
    code: 112,
    errorLabels: [MongoErrorLabel.TransientTransactionError],
    ...(cause !== undefined && { cause }),
  });

/** The codes of permanent server errors: the request is wrong, or not permitted. */
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

/** The errors of a connection string that cannot work, at least for this deployment. */
const LASTING_ERRORS = [
  MongoParseError,
  MongoInvalidArgumentError,
  MongoCompatibilityError,
  MongoMissingDependencyError,
];

/** True if the call may succeed later: the database could not be reached or did not respond in time. */
function isTemporary(error: unknown): boolean {
  if (error instanceof MongoServerError) return !LASTING_CODES.has(error.code);
  return error instanceof MongoError && !LASTING_ERRORS.some((lasting) => error instanceof lasting);
}

/** Translates an error for the port: to UNAVAILABLE if it is temporary; otherwise unchanged. */
export const portError = (error: unknown): unknown =>
  isTemporary(error) ? unavailable(explained(error)) : error;

/** Explains why no server was selected if the driver's message doesn't. */
const explained = (error: unknown): unknown =>
  error instanceof MongoServerSelectionError && error.reason?.type === TopologyType.ReplicaSetNoPrimary
    ? new Error(`The replica set ${error.reason.setName} has no primary, or is called otherwise.`, {
        cause: error,
      })
    : error;

const hasCode =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof MongoServerError && error.code === code;

/** True if a document with this key already exists. */
export const isDuplicateKey = hasCode(11000);

/** Ignores the error for a write that another instance made first. */
export function ignoreDuplicate(error: unknown): void {
  if (!isDuplicateKey(error)) throw error;
}

/** Ignores the error for a collection that another instance created first. */
export function ignoreExisting(error: unknown): void {
  if (!hasCode(48)(error)) throw error;
}

/** True if the user lacks the privilege. */
export const isUnauthorized = hasCode(13);

/** True if the server aborted the command at its time limit. */
export const isTimeExpired = hasCode(50);

/** True if the log no longer has the events after a position. */
export const isHistoryLost = hasCode(286);

/** BadValue, FailedToParse, TypeMismatch, InvalidResumeToken, and ChangeStreamFatalError for a token that isn't found. */
const TOKEN_CODES = new Set<unknown>([2, 9, 14, 260, 280]);
/** The first code of places in the server's source, without a name in error_codes.yml, such as most token checks. */
const FIRST_PLACE = 20_000;

/** True if a change stream was refused because of its start token rather than the server's state. */
export const isOfToken = (error: unknown): boolean =>
  error instanceof MongoServerError && (TOKEN_CODES.has(error.code) || Number(error.code) >= FIRST_PLACE);

const hasLabel =
  (label: MongoErrorLabel) =>
  (error: unknown): boolean =>
    error instanceof MongoError && error.hasErrorLabel(label);

/** True if a failed transaction may succeed when retried. */
export const isTransient = hasLabel(MongoErrorLabel.TransientTransactionError);

/** True if a transaction may have been committed, as another attempt to commit will tell. */
export const isUnknownCommit = (error: unknown): boolean =>
  hasLabel(MongoErrorLabel.UnknownTransactionCommitResult)(error) && !isTimeExpired(error);
