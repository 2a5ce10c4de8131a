import { MongoError, MongoServerError } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';

/** A concurrent write changed what this attempt had read. Nothing was written, and another attempt may succeed. */
export class WriteConflict extends Error {
  constructor(options?: ErrorOptions) {
    super('Lost to a concurrent write.', options);
  }
}

/** Classes of errors of the driver itself, some of which it does not export. */
const UNAVAILABLE_NAMES = new Set([
  'MongoClientClosedError',
  'MongoExpiredSessionError',
  'MongoNetworkError',
  'MongoNetworkTimeoutError',
  'MongoNotConnectedError',
  'MongoOperationTimeoutError',
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoServerClosedError',
  'MongoServerSelectionError',
  'MongoStalePrimaryError',
  'MongoTopologyClosedError',
  'MongoWaitQueueTimeoutError',
  'MongoWriteConcernError',
  'PoolClearedOnNetworkError',
]);

/** Labels of transient errors. When they get here, the driver's own retries have failed. */
const UNAVAILABLE_LABELS = [
  'RetryableWriteError',
  'TransientTransactionError',
  'UnknownTransactionCommitResult',
  'SystemOverloadedError',
];

/** Server error codes of a database that is temporarily unable to work. */
const UNAVAILABLE_CODES = new Set<unknown>([
  6, // HostUnreachable
  7, // HostNotFound
  24, // LockTimeout
  43, // CursorNotFound
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  112, // WriteConflict
  117, // ConflictingOperationInProgress
  133, // FailedToSatisfyReadPreference
  134, // ReadConcernMajorityNotAvailableYet
  175, // QueryPlanKilled
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  251, // NoSuchTransaction
  262, // ExceededTimeLimit
  317, // ConnectionPoolExpired
  365, // TemporarilyUnavailable
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

/** Whether the database could not be reached or did not respond in time, so that the call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof MongoError)) return false;
  if (UNAVAILABLE_NAMES.has(error.name)) return true;
  if (UNAVAILABLE_LABELS.some((label) => error.hasErrorLabel(label))) return true;
  return UNAVAILABLE_CODES.has(error.code);
}

/** Translates an error for the port: UNAVAILABLE if the database is away, otherwise unchanged. */
export const portError = (error: unknown): unknown =>
  isUnavailable(error) || error instanceof WriteConflict ? unavailable(error) : error;

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

/** Whether the collection's validator refused the document. */
export const isInvalidDocument = hasCode(121);

/** Whether the server aborted the command at its time limit. */
export const isTimeExpired = hasCode(50);

/** Whether the user lacks the required privilege. */
export const isUnauthorized = hasCode(13);

/** Whether the log no longer has the events after a position. */
export const isHistoryLost = hasCode(286);

/** Whether the server has closed a cursor. */
export const isCursorLost = hasCode(43);

/** Whether a collection of this name already exists. */
export const isNamespaceTaken = hasCode(48);

/** Whether a transaction failed that may succeed if it is retried. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel('TransientTransactionError');

/** Whether it is unknown if a transaction was committed. */
export const isCommitUnknown = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
