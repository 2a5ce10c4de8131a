import { GraphQLError, Source } from 'graphql';
import { expect, it } from 'vitest';
import { AppError, ERRORS, type ErrorCode, validationFailed } from '../../src/errors.ts';
import { OperationRefused, publicError, refused } from '../../src/graphql/refusal.ts';

it.each(Object.keys(ERRORS) as ErrorCode[])(
  'an error of code %s is told with the status of the table',
  (code) => {
    const { status } = ERRORS[code];
    const told = { message: 'why', extensions: { code, status } };
    expect(publicError(new AppError(code, 'why'))).toEqual(told);
    expect(publicError(new GraphQLError('why', { extensions: { code, status: 200 } }))).toEqual(told);
    expect(publicError(new GraphQLError('why'), code)).toEqual(told);
    const { errors, message } = refused(code, 'why');
    expect([errors, message]).toEqual([[told], 'why']);
  },
);

it('an error without a code of ours has that of the fallback', () => {
  for (const code of [undefined, 'toString', 'constructor', 'NO_SUCH_CODE']) {
    const error = new GraphQLError('why', code === undefined ? {} : { extensions: { code } });
    expect(publicError(error).extensions).toEqual({ code: 'INTERNAL', status: 500 });
    expect(publicError(error, 'NOT_FOUND').extensions).toEqual({ code: 'NOT_FOUND', status: 404 });
  }
});

it('an error is told with its place, its path and what is wrong with each field, and nothing else', () => {
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

it('an operation may be refused for several reasons, of which the first is its message', () => {
  const errors = ['one', 'two'].map((message) => ({ message }));
  expect(new OperationRefused(errors)).toMatchObject({ message: 'one', errors });
  expect(new OperationRefused([]).message).toBe('');
});
