import {
  MongoError,
  MongoInvalidArgumentError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoWriteConcernError,
} from 'mongodb';
import { describe, expect, it } from 'vitest';
import { notFound } from '../../../src/errors.ts';
import { isDuplicateKey, portError, WriteConflict } from '../../../src/store/mongo/errors.ts';

const serverError = (code: number, errorLabels: string[] = []) =>
  new MongoServerError({ message: 'no', code, errorLabels });

/** A class that the driver doesn't export. */
class Unexported extends MongoError {
  override get name() {
    return 'MongoWaitQueueTimeoutError';
  }
}

describe('An error of the driver', () => {
  it.each<[string, unknown]>([
    ['the network', new MongoNetworkError('closed')],
    ['a silent socket', new MongoNetworkTimeoutError('late')],
    ['a closed client', new MongoNotConnectedError('closed')],
    ['a full pool', new Unexported('full')],
    ['not primary', serverError(10107)],
    ['stepped down', serverError(189)],
    ['out of time', serverError(50)],
    ['shutting down', serverError(11600)],
    ['temporarily unavailable', serverError(365)],
    ['no majority to read from yet', serverError(134)],
    ['a query plan that was killed', serverError(175)],
    ['a cursor that is gone', serverError(43)],
    ['a conflicting operation', serverError(117)],
    ['a write conflict that did not end', serverError(112, ['TransientTransactionError'])],
    ['a commit without an answer', serverError(64, ['UnknownTransactionCommitResult'])],
    ['no majority', new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: 'late' } })],
    ['a lost race', new WriteConflict()],
  ])('is UNAVAILABLE, with its cause: %s', (_, fault) => {
    expect(portError(fault)).toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1, cause: fault });
  });

  it.each<[string, unknown]>([
    ['a duplicate key', serverError(11000)],
    ['a document that fails its validator', serverError(121)],
    ['missing rights', serverError(13)],
    ['a wrong argument', new MongoInvalidArgumentError('no')],
    ['an error of the client', notFound('pet', '1')],
    ['an error of ours', new TypeError('no')],
  ])('is passed on: %s', (_, fault) => {
    expect(portError(fault)).toBe(fault);
  });

  it('tells a duplicate key', () => {
    expect([isDuplicateKey(serverError(11000)), isDuplicateKey(serverError(121))]).toEqual([true, false]);
  });
});
