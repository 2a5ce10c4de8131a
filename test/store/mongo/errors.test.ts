import {
  MongoCompatibilityError,
  MongoInvalidArgumentError,
  MongoMissingDependencyError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { describe, expect, it } from 'vitest';
import { notFound } from '../../../src/foundation/errors.ts';
import { isDuplicateKey, portError, writeConflict } from '../../../src/store/mongo/driver-errors.ts';

const serverError = (code: number, errorLabels: string[] = []) =>
  new MongoServerError({ message: 'no', code, errorLabels });

describe('portError', () => {
  it.each<[string, unknown]>([
    ['the network', new MongoNetworkError('closed')],
    ['a socket timeout', new MongoNetworkTimeoutError('late')],
    ['a closed client', new MongoNotConnectedError('closed')],
    ['not primary', serverError(10107)],
    ['stepped down', serverError(189)],
    ['an exceeded time limit', serverError(50)],
    ['shutting down', serverError(11600)],
    ['temporarily unavailable', serverError(365)],
    ['a majority read concern that is not available yet', serverError(134)],
    ['a killed query plan', serverError(175)],
    ['a lost cursor', serverError(43)],
    ['a conflicting operation', serverError(117)],
    ['a persistent write conflict', serverError(112, ['TransientTransactionError'])],
    ['a commit with an unknown result', serverError(64, ['UnknownTransactionCommitResult'])],
    [
      'a write concern error',
      new MongoWriteConcernError({ ok: 1, writeConcernError: { code: 64, errmsg: 'late' } }),
    ],
    ['a lost write conflict', writeConflict()],
  ])('turns into UNAVAILABLE with its cause: %s', (_, error) => {
    expect(portError(error)).toMatchObject({ code: 'UNAVAILABLE', retryAfter: 1, cause: error });
  });

  it.each<[string, unknown]>([
    ['a duplicate key', serverError(11000)],
    ['missing permissions', serverError(13)],
    ['an invalid argument', new MongoInvalidArgumentError('no')],
    ['a load balancer that is none', new MongoCompatibilityError('no')],
    [
      'a module that is not installed',
      new MongoMissingDependencyError('no', { cause: new Error('no'), dependencyName: 'kerberos' }),
    ],
    ['a client error', notFound('pet', '1')],
    ['an internal error', new TypeError('no')],
  ])('passes on unchanged: %s', (_, error) => {
    expect(portError(error)).toBe(error);
  });

  it('says why no server of a replica set was selected', () => {
    const reason = { type: 'ReplicaSetNoPrimary', setName: 'rs0' } as never;
    expect(portError(new MongoServerSelectionError('Timed out', reason))).toMatchObject({
      cause: { message: 'The replica set rs0 has no primary, or is called otherwise.' },
    });
  });

  it('distinguishes duplicate keys from other errors', () => {
    expect([isDuplicateKey(serverError(11000)), isDuplicateKey(serverError(121))]).toEqual([true, false]);
  });
});
