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
export class LostRace extends Error {}

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

/** The labels of faults that go away by themselves; when they get here, the driver has retried in vain. */
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
  50, // MaxTimeMSExpired
  64, // WriteConcernTimeout
  89, // NetworkTimeout
  91, // ShutdownInProgress
  100, // UnsatisfiableWriteConcern
  112, // WriteConflict
  133, // FailedToSatisfyReadPreference
  189, // PrimarySteppedDown
  202, // NetworkInterfaceExceededTimeLimit
  251, // NoSuchTransaction
  262, // ExceededTimeLimit
  317, // ConnectionPoolExpired
  9001, // SocketException
  10107, // NotWritablePrimary
  11600, // InterruptedAtShutdown
  11601, // Interrupted
  11602, // InterruptedDueToReplStateChange
  13435, // NotPrimaryNoSecondaryOk
  13436, // NotPrimaryOrSecondary
]);

/** Whether the database could not be reached or did not answer in time, so that the same call may succeed later. */
export function isUnavailable(fault: unknown): boolean {
  if (!(fault instanceof MongoError)) return false;
  if (UNAVAILABLE_CLASSES.some((type) => fault instanceof type)) return true;
  if (UNAVAILABLE_NAMES.has(fault.name)) return true;
  if (UNAVAILABLE_LABELS.some((label) => fault.hasErrorLabel(label))) return true;
  return UNAVAILABLE_CODES.has(fault.code);
}

/** What the port throws for a fault: UNAVAILABLE for a database that is away, anything else as it is. */
export const portFault = (fault: unknown): unknown =>
  isUnavailable(fault) || fault instanceof LostRace ? unavailable(fault) : fault;

/** Whether a document with this key exists already. */
export const isDuplicateKey = (fault: unknown): boolean =>
  fault instanceof MongoServerError && fault.code === 11000;
