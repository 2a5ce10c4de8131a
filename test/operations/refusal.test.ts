import { GraphQLError, Source } from 'graphql';
import { expect, it } from 'vitest';
import { AppError, ERRORS, type ErrorCode, validationFailed } from '../../src/foundation/errors.ts';
import { OperationRefused, publicError, refused } from '../../src/operations/result.ts';

it.each(Object.keys(ERRORS) as ErrorCode[])(
  'formats an error of code %s with its status from the error table',
  (code) => {
    const { status } = ERRORS[code];
    const formatted = { message: 'why', extensions: { code, status } };
    expect(publicError(new AppError(code, 'why'))).toEqual(formatted);
    expect(publicError(new GraphQLError('why', { extensions: { code, status: 200 } }))).toEqual(formatted);
    expect(publicError(new GraphQLError('why'), code)).toEqual(formatted);
    const { errors, message } = refused(code, 'why');
    expect([errors, message]).toEqual([[formatted], 'why']);
  },
);

it('uses the fallback code for an error without a known code', () => {
  for (const code of [undefined, 'toString', 'constructor', 'NO_SUCH_CODE']) {
    const error = new GraphQLError('why', code === undefined ? {} : { extensions: { code } });
    expect(publicError(error).extensions).toEqual({ code: 'INTERNAL', status: 500 });
    expect(publicError(error, 'NOT_FOUND').extensions).toEqual({ code: 'NOT_FOUND', status: 404 });
  }
});

it('exposes the locations, path and field issues of an error and nothing else', () => {
  const fields = [{ path: 'name', message: 'is required' }];
  const error = new GraphQLError('why', {
    source: new Source('{ a }'),
    positions: [2],
    path: ['a', 0],
    extensions: { code: 'VALIDATION_FAILED', fields, secret: 'x' },
    originalError: new Error('secret'),
  });
  expect(publicError(error)).toEqual({
    message: 'why',
    locations: [{ line: 1, column: 3 }],
    path: ['a', 0],
    extensions: { code: 'VALIDATION_FAILED', status: 400, fields },
  });
  expect(publicError(validationFailed(fields))).toEqual({
    message: 'name: is required.',
    extensions: { code: 'VALIDATION_FAILED', status: 400, fields },
  });
  expect(Object.keys(publicError(new GraphQLError('why')))).toEqual(['message', 'extensions']);
});

it('takes the message of a refusal from its first error', () => {
  const errors = ['one', 'two'].map((message) => ({ message }));
  expect(new OperationRefused(errors)).toMatchObject({ message: 'one', errors });
  expect(new OperationRefused([]).message).toBe('');
});
