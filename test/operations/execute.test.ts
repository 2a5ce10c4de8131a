import { GraphQLError } from 'graphql';
import { expect, it } from 'vitest';
import { AppError } from '../../src/foundation/errors.ts';
import { publicResult } from '../../src/operations/result.ts';

const located = (originalError: Error) =>
  new GraphQLError(originalError.message, { path: ['a'], originalError });

function publish(errors: GraphQLError[], data?: Record<string, unknown> | null) {
  const reported: unknown[] = [];
  const result = publicResult(data === undefined ? { errors } : { errors, data }, (error) =>
    reported.push(error),
  );
  return { result, reported };
}

it('returns a result without errors unchanged', () => {
  const result = { data: { a: 1 } };
  expect(publicResult(result, () => {})).toBe(result);
});

it('passes application errors to the client and also reports INTERNAL and UNAVAILABLE ones', () => {
  const [client, ours, away] = [
    new AppError('NOT_FOUND', 'There is no pet 1.'),
    new AppError('INTERNAL', 'Broken.'),
    new AppError('UNAVAILABLE', 'Away.'),
  ];
  const { result, reported } = publish([located(client), located(ours), located(away)], { a: null });
  expect(result).toEqual({
    data: { a: null },
    errors: [
      { message: 'There is no pet 1.', path: ['a'], extensions: { code: 'NOT_FOUND', status: 404 } },
      { message: 'Broken.', path: ['a'], extensions: { code: 'INTERNAL', status: 500 } },
      { message: 'Away.', path: ['a'], extensions: { code: 'UNAVAILABLE', status: 503 } },
    ],
  });
  expect(reported).toEqual([ours, away]);
});

it('masks other errors and reports their cause if they have one', () => {
  const [thrown, own] = [new TypeError('secret'), new GraphQLError('secret', { path: ['b'] })];
  const { result, reported } = publish([located(thrown), own]);
  const extensions = { code: 'INTERNAL', status: 500 };
  const message = 'Something went wrong on our side.';
  expect(result).toEqual({
    data: null,
    errors: [
      { message, path: ['a'], extensions },
      { message, path: ['b'], extensions },
    ],
  });
  expect(reported).toEqual([thrown, own]);
});

it('takes retryAfter from the first error that has it', () => {
  const unavailable = (retryAfter: number) => located(new AppError('UNAVAILABLE', 'Away.', { retryAfter }));
  const other = located(new AppError('NOT_FOUND', 'There is none.'));
  expect(publish([other, unavailable(3), unavailable(9)]).result.retryAfter).toBe(3);
  expect(publish([other]).result).not.toHaveProperty('retryAfter');
});
