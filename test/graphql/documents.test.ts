import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { Documents, type ReadDocument, type ValidDocument } from '../../src/graphql/documents.ts';
import { Operations } from '../../src/graphql/operations.ts';
import { schema } from '../../src/graphql/schema.ts';
import { cases } from '../kit/cases.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const heap = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
};

/** Some 60 fields under names of their own, with fragments and a switch, so that each has several plans to keep. */
const document = (n: number): string => `query Q($deep: Boolean = true) {
  pets(first: 5) { nodes { ...Names${n} category @include(if: $deep) { ...Category${n} } } }
}
fragment Names${n} on Pet { ${Array.from({ length: 40 }, (_, i) => `p${n}_${i}: id`).join(' ')} }
fragment Category${n} on Category { ${Array.from({ length: 20 }, (_, i) => `c${n}_${i}: id`).join(' ')} }`;

it('thousands of different documents leave little behind, whatever is kept of each', () => {
  const operations = new Operations(schema, () => {});
  const prepare = (n: number) => {
    for (const deep of [true, false, true, true])
      operations.prepare({ query: document(n), variables: { deep } });
  };
  for (let n = 0; n < 200; n++) prepare(n);
  const before = heap();
  for (let n = 200; n < cases(2_000, 10_000); n++) prepare(n);
  expect(heap() - before).toBeLessThan(60);
}, 120_000);

it('documents that come once are not kept', () => {
  const operations = new Operations(schema, () => {});
  for (let n = 0; n < 200; n++) operations.prepare({ query: document(n) });
  const before = heap();
  // As trees they would take more than the room that there is for all of them.
  for (let n = 200; n < 1_000; n++) operations.prepare({ query: document(n) });
  expect(heap() - before).toBeLessThan(6);
});

describe('Documents', () => {
  const newDocuments = () => new Documents(schema, { introspection: true });
  const valid = (document: ReadDocument) => document as ValidDocument;
  const refusalOf = (text: string) => newDocuments().read(text).refusal!.errors;

  it('are kept from their second use on, whether they can run or not', () => {
    for (const text of ['{ __typename }', '{ nothing }', '{']) {
      const documents = newDocuments();
      const [first, second, third, fourth] = [1, 2, 3, 4].map(() => documents.get(text));
      expect(second, text).not.toBe(first);
      expect([third, fourth], text).toEqual([second, second]);
      expect(third === second && fourth === second, text).toBe(true);
    }
  });

  it('are forgotten after their first use once two million characters of others have come', () => {
    const isKept = (others: number, length: number) => {
      const documents = newDocuments();
      documents.get('{ __typename }');
      for (let n = 0; n < others; n++) documents.get(`${n}`.padEnd(length, '#'));
      const again = documents.get('{ __typename }');
      return documents.get('{ __typename }') === again;
    };
    expect(isKept(19, 100_000)).toBe(true);
    expect(isKept(20, 100_000)).toBe(false);
  });

  it('have room for what belongs to them, 1.5 MB each and 24 MB together', () => {
    const documents = newDocuments();
    const cached = (text: string) => {
      documents.get(text);
      return valid(documents.get(text));
    };
    const document = cached('{ __typename }');
    // 1 kB for the entry, 2 bytes for each of 14 characters, and 300 for each of 5 tokens.
    const free = 1_500_000 - 1_000 - 2 * 14 - 5 * 300;
    expect(documents.reserve(document, free - 10)).toBe(true);
    expect(documents.reserve(document, 11)).toBe(false);
    expect(documents.reserve(document, 10)).toBe(true);
    expect(documents.reserve(document, 1)).toBe(false);
    expect(documents.get('{ __typename }')).toBe(document);
    for (let n = 1; n < 16; n++) {
      const other = cached(`{ a${n}: __typename }`);
      expect(documents.reserve(other, 1_490_000)).toBe(true);
      expect(documents.get('{ __typename }')).toBe(document);
    }
    expect(documents.reserve(cached('{ last: __typename }'), 1_490_000)).toBe(true);
    // That which has not been used for longest makes room.
    expect(documents.get('{ a1: __typename }')).not.toBe(documents.get('{ a1: __typename }'));
    expect(documents.get('{ __typename }')).toBe(document);
  });

  it('have no room while they are not kept', () => {
    const documents = newDocuments();
    expect(documents.reserve(valid(documents.read('{ __typename }')), 1)).toBe(false);
    const first = valid(documents.get('{ __typename }'));
    expect(documents.reserve(first, 1)).toBe(false);
    documents.get('{ __typename }');
    expect(documents.reserve(first, 1)).toBe(false);
  });

  it('know their operations and their size', () => {
    const one = valid(newDocuments().read('{ __typename }'));
    expect([one.tokens, [...one.operations.keys()], one.only === one.operations.get('')]).toEqual([
      5,
      [''],
      true,
    ]);
    const text = 'query A { __typename } mutation B { __typename }';
    const two = valid(newDocuments().read(text));
    expect([two.text, [...two.operations.keys()], two.only]).toEqual([text, ['A', 'B'], undefined]);
    expect([...two.operations.values()].map(({ document }) => document)).toEqual([two, two]);
  });

  it('say what is wrong with them: 20 errors, and how many more there are', () => {
    const wrong = (count: number) => `{ ${Array.from({ length: count }, (_, i) => `a${i}`).join(' ')} }`;
    const extensions = { code: 'GRAPHQL_VALIDATION_FAILED', status: 400 };
    const message = (n: number, more = '') => `Cannot query field "a${n}" on type "Query".${more}`;
    const at = (n: number) => ({
      locations: [{ line: 1, column: wrong(n + 1).length - `a${n} }`.length + 1 }],
      extensions,
    });
    for (const count of [1, 20]) {
      expect(refusalOf(wrong(count))).toHaveLength(count);
      expect(refusalOf(wrong(count)).at(-1)).toEqual({ message: message(count - 1), ...at(count - 1) });
    }
    for (const [count, more] of [
      [21, ' (and 1 more)'],
      [100, ' (and 80 more)'],
    ] as const) {
      expect(refusalOf(wrong(count))).toHaveLength(20);
      expect(refusalOf(wrong(count)).at(-1)).toEqual({ message: message(19, more), ...at(19) });
    }
    expect(refusalOf(wrong(101))).toEqual([
      {
        message: 'The operation has too many errors.',
        extensions: { code: 'QUERY_TOO_COMPLEX', status: 400 },
      },
    ]);
  });

  it('are too complex with more than 2,000 tokens, whatever they are', () => {
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

  it('name the place of a value that a scalar refuses', () => {
    const rule = 'must be an integer from 1 to 9223372036854775807';
    for (const [text, path] of [
      ['{ pet(id: "x") { id } }', 'id'],
      ['{ pet(id: 1) { orders(filter: {petId: "x"}) { totalCount } } }', 'petId'],
      ['query ($p: ID! = "x") { pet(id: $p) { id } }', 'p'],
      ['query ($n: Int = 1, $p: ID = "0") { orders(first: $n, filter: {petId: $p}) { totalCount } }', 'p'],
      ['{ nodes(nodeIds: ["x", true]) { nodeId } }', 'nodeIds'],
      ['{ a: pet(id: 1) { id } b: category(id: 0) { id } }', 'id'],
    ] as const)
      expect(refusalOf(text), text).toEqual([
        {
          message: `${path}: ${rule}.`,
          locations: [expect.any(Object)],
          extensions: { code: 'VALIDATION_FAILED', status: 400, fields: [{ path, message: rule }] },
        },
      ]);
  });

  it('throw on a bug of ours', () => {
    const broken = new Documents({} as never, { introspection: true });
    expect(() => broken.read('{ __typename }')).toThrow();
  });
});
