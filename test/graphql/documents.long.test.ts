import { describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Documents } from '../../src/graphql/documents.ts';
import { Operations } from '../../src/graphql/operations.ts';
import { OperationRefused } from '../../src/graphql/result.ts';

const { schema } = api;

describe('documents', () => {
  const refusalOf = (text: string, variables = {}) => {
    try {
      new Operations(schema, () => {}).prepare({ query: text, variables });
    } catch (error) {
      if (error instanceof OperationRefused) return error.errors;
      throw error;
    }
    return [];
  };

  it('are kept as long as there is room for their texts and tokens', () => {
    const isKept = (others: number, length: number) => {
      const documents = new Documents(schema, { introspection: true });
      const first = documents.get('{ __typename }');
      for (let n = 0; n < others; n++) documents.get(`{ a${n}: __typename }`.padEnd(length, ' '));
      return documents.get('{ __typename }') === first;
    };
    expect([isKept(900, 20), isKept(6_000, 20)]).toEqual([true, false]);
    expect([isKept(100, 90_000), isKept(250, 90_000)]).toEqual([true, false]);
  });

  it('cut what errors repeat', () => {
    for (const text of [
      `{ __typename } ${'n'.repeat(90_000)}`,
      `{ pets(first: "${'n'.repeat(90_000)}") { totalCount } }`,
      `{ pets(first: [${'1 '.repeat(1_900)}]) { totalCount } }`,
    ])
      expect(JSON.stringify(refusalOf(text)).length, text.slice(0, 50)).toBeLessThan(700);
  });

  it('list 20 errors of up to 100, and are too complex with more', () => {
    const wrong = (count: number) => `{ ${Array.from({ length: count }, (_, i) => `a${i}`).join(' ')} }`;
    for (const [count, named] of [
      [1, 1],
      [20, 20],
      [100, 20],
    ] as const) {
      expect(refusalOf(wrong(count))).toHaveLength(named);
      expect(refusalOf(wrong(count)).at(-1)).toMatchObject({
        message: `Cannot query field "a${named - 1}" on type "Query".`,
        extensions: { code: 'GRAPHQL_VALIDATION_FAILED', status: 400 },
      });
    }
    expect(refusalOf(wrong(101))).toEqual([
      {
        message: 'Too many validation errors, error limit reached. Validation aborted.',
        extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 },
      },
    ]);
  });

  it('refuses documents of more than 2,000 tokens as QUERY_TOO_COMPLEX', () => {
    const tokens = (count: number) => refusalOf(`${'a '.repeat(count)}{`)[0]!;
    expect(tokens(1_999).extensions).toEqual({ code: 'GRAPHQL_PARSE_FAILED', status: 400 });
    const many = `{ ${'a '.repeat(2_000)} }`;
    expect(refusalOf(many)).toMatchObject([
      {
        message: 'Syntax Error: Document contains more that 2000 tokens. Parsing aborted.',
        extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 },
      },
    ]);
  });
});
