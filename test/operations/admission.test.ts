import { describe, expect, it } from 'vitest';
import type { AppError } from '../../src/foundation/errors.ts';
import { admit } from '../../src/operations/admission.ts';
import { Operations } from '../../src/operations/operations.ts';
import { PersistedQueries } from '../../src/operations/persisted-queries.ts';
import { OperationRefused } from '../../src/operations/refusal.ts';
import { schema } from '../../src/schema.ts';
import { errorOf } from '../kit/errors.ts';

const services = () => ({
  operations: new Operations(schema, () => {}),
  persisted: new PersistedQueries(),
});
const admitted = async (parameters: unknown, bytes = 100) =>
  admit(services(), { parameters, bytes }, true, {});

describe('GraphQL request admission', () => {
  it.each<[parameters: unknown, name: string | undefined]>([
    [{ query: '{ __typename }' }, undefined],
    [{ query: 'query A { __typename }' }, 'A'],
    [{ query: 'query A { __typename } query B { __typename }', operationName: 'B' }, 'B'],
    [
      [{ query: 'query A { __typename }' }, { query: '{ __typename }' }, { query: 'query B { __typename }' }],
      'A,B',
    ],
    [[{ query: 'query A { nothing }' }, { query: '{' }], undefined],
  ])('gives %j the log name %s', async (parameters, name) => {
    expect((await admitted(parameters)).name).toBe(name);
  });

  const QUERY = '{ __typename }';

  it.each<[message: string, code: string, refused: unknown[]]>([
    [
      'A GraphQL request must be a JSON object.',
      'BAD_REQUEST',
      [7, null, QUERY, [[]], [{ query: QUERY }, null]],
    ],
    ['A GraphQL request must have a query that is a string.', 'BAD_REQUEST', [{}, { query: 7 }]],
    [
      'A GraphQL request has an operationName that is not a string.',
      'BAD_REQUEST',
      [{ query: QUERY, operationName: 7 }],
    ],
    [
      'A GraphQL request has variables that are not an object.',
      'BAD_REQUEST',
      ['x', []].map((variables) => ({ query: QUERY, variables })),
    ],
    [
      'A GraphQL request has extensions that are not an object.',
      'BAD_REQUEST',
      [7, []].map((extensions) => ({ query: QUERY, extensions })),
    ],
    ['The batch is empty.', 'BAD_REQUEST', [[]]],
    ['A batch may have 10 operations, not 11.', 'PAYLOAD_TOO_LARGE', [Array(11).fill({ query: QUERY })]],
  ])('refuses with the message %s (%s)', async (message, code, refused) => {
    for (const parameters of refused) {
      const refusal = (await errorOf(() => admitted(parameters))) as AppError;

      expect({ code: refusal.code, message: refusal.message }).toEqual({ code, message });
    }
  });

  it('accepts missing or null optional parameters and an empty operationName', async () => {
    for (const more of [
      {},
      { operationName: null, variables: null, extensions: null },
      { operationName: '' },
    ])
      expect(await admitted({ query: 'query A { __typename }', ...more })).toMatchObject({
        cost: 0,
        batch: false,
      });
  });

  it('adds up the costs and mutations of a batch, with one unit per refused operation', async () => {
    const pet = { query: '{ pet(id: 1) { id } }' };
    const two = { query: 'mutation { a: deletePet(id: 1) b: deletePet(id: 2) __typename }' };
    const { operations, cost, mutations, batch } = await admitted([pet, { query: '{' }, two, two]);
    expect(operations.map((operation) => operation instanceof OperationRefused)).toEqual([
      false,
      true,
      false,
      false,
    ]);
    expect({ cost, mutations, batch }).toEqual({ cost: 6, mutations: 4, batch: true });
  });

  it('charges free operations above 150 tokens plus 4 per field, or above 420 tokens', async () => {
    // `{ __typename }` has 3 tokens; each `... { __typename }` adds 4.
    const padded = (tokens: number) => {
      const free = '{ __typename }';
      const spreads = Math.floor((tokens - 3) / 4);
      const rest = tokens - 3 - 4 * spreads;
      return {
        query: free.replace(' }', `${' ... { __typename }'.repeat(spreads)}${' __typename'.repeat(rest)} }`),
      };
    };
    expect((await admitted(padded(154))).cost).toBe(0);
    expect((await admitted(padded(155))).cost).toBe(1);
    // In a batch, the limit applies only to operations that cost nothing.
    const pet = { query: `{ pet(id: 1) { ${'id '.repeat(200)} } }` };
    expect((await admitted([pet, padded(154)])).cost).toBe(1);
    expect((await admitted([pet, padded(155)])).cost).toBe(2);
    expect((await admitted([padded(154), padded(154)])).cost).toBe(1);
    const fields = (count: number) => Array.from({ length: count }, (_, i) => `a${i}: __typename`).join(' ');
    // Each of the 100 fields has 3 tokens but raises the limit by 4.
    const wide = (rest: number) => ({
      query: `{ ${fields(100)} ${'... { a1: __typename } '.repeat(rest)} }`,
    });
    expect((await admitted(wide(19))).cost).toBe(0);
    expect((await admitted(wide(20))).cost).toBe(1);
  });

  it('refuses a mutation where mutations are not allowed', () => {
    const parameters = { query: 'mutation { deletePet(id: 1) }' };
    expect(() => admit(services(), { parameters, bytes: 100 }, false, {})).toThrow(
      'Mutations and subscriptions must be sent with POST.',
    );
  });

  it('rethrows unexpected errors instead of refusing the operation', () => {
    const operations = new Operations(schema, () => {});
    operations.prepare = () => {
      throw new TypeError('a bug');
    };
    const parameters = { query: '{ __typename }' };
    expect(() => admit({ ...services(), operations }, { parameters, bytes: 100 }, true, {})).toThrow(
      TypeError,
    );
  });
});
