import {
  MongoClientClosedError,
  MongoError,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoNotConnectedError,
  MongoOperationTimeoutError,
  MongoServerClosedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoStalePrimaryError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb';
import { unavailable } from '../../errors.ts';

/** A concurrent writer changed what this attempt had read; nothing is written, and a further attempt may succeed. */
export class WriteConflict extends Error {
  constructor(options?: ErrorOptions) {
    super('A concurrent writer was faster.', options);
  }
}

const UNAVAILABLE_CLASSES = [
  MongoNetworkError,
  MongoServerSelectionError,
  MongoOperationTimeoutError,
  MongoWriteConcernError,
  MongoServerClosedError,
  MongoTopologyClosedError,
  MongoClientClosedError,
  MongoNotConnectedError,
  MongoExpiredSessionError,
  MongoStalePrimaryError,
];

/** The classes that the driver throws but doesn't export. */
const UNAVAILABLE_NAMES = new Set([
  'MongoPoolClearedError',
  'MongoPoolClosedError',
  'MongoWaitQueueTimeoutError',
]);

/** The labels of errors that go away by themselves; when they get here, the driver has retried in vain. */
const UNAVAILABLE_LABELS = [
  'RetryableWriteError',
  'TransientTransactionError',
  'UnknownTransactionCommitResult',
  'SystemOverloadedError',
];

/** Server error codes of a database that can't do its work at the moment. */
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

/** Whether the database could not be reached or did not answer in time, so that the same call may succeed later. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof MongoError)) return false;
  if (UNAVAILABLE_CLASSES.some((type) => error instanceof type)) return true;
  if (UNAVAILABLE_NAMES.has(error.name)) return true;
  if (UNAVAILABLE_LABELS.some((label) => error.hasErrorLabel(label))) return true;
  return UNAVAILABLE_CODES.has(error.code);
}

/** What the port throws for an error: UNAVAILABLE for a database that is away, anything else as it is. */
export const portError = (error: unknown): unknown =>
  isUnavailable(error) || error instanceof WriteConflict ? unavailable(error) : error;

const hasCode =
  (code: number) =>
  (error: unknown): boolean =>
    error instanceof MongoServerError && error.code === code;

/** Whether a document with this key exists already. */
export const isDuplicateKey = hasCode(11000);

/** Whether the validator of the collection refuses the document. */
export const isInvalidDocument = hasCode(121);

/** Whether the server gave up when the time for the command was over. */
export const isTimeExpired = hasCode(50);

/** Whether the user lacks the right to do this. */
export const isUnauthorized = hasCode(13);

/** Whether there is a collection of this name already. */
export const isNamespaceTaken = hasCode(48);

/** Whether a transaction failed that may succeed when it is begun again. */
export const isTransient = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel('TransientTransactionError');

/** Whether nobody can tell if a transaction was committed. */
export const isCommitUnknown = (error: unknown): boolean =>
  error instanceof MongoError && error.hasErrorLabel('UnknownTransactionCommitResult');
