import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { AllowanceExhausted, Meter } from '../../src/foundation/meter.ts';
import { Documents, type ReadDocument, type ValidDocument } from '../../src/operations/documents.ts';
import { Operations } from '../../src/operations/operations.ts';
import { schema } from '../../src/schema.ts';
import { cases } from '../kit/cases.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The same field under `count` aliases. */
const names = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `a${i}:${field}`).join(' ');

const heap = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
};

/** About 60 fields under unique aliases. Fragments and a condition give each document several plans. */
const document = (n: number): string => `query Q($deep: Boolean = true) {
  pets(first: 5) { nodes { ...Names${n} category @include(if: $deep) { ...Category${n} } } }
}
fragment Names${n} on Pet { ${Array.from({ length: 40 }, (_, i) => `p${n}_${i}: id`).join(' ')} }
fragment Category${n} on Category { ${Array.from({ length: 20 }, (_, i) => `c${n}_${i}: id`).join(' ')} }`;

it('limits heap growth over hundreds of different documents', () => {
  const operations = new Operations(schema, () => {});
  const prepare = (n: number) => {
    for (const deep of [true, false, true, true])
      operations.prepare({ query: document(n), variables: { deep } });
  };
  for (let n = 0; n < 100; n++) prepare(n);
  const before = heap();
  for (let n = 100; n < cases(350, 4_000); n++) prepare(n);
  // Without limits, a document keeps 85 kB.
  expect(heap() - before).toBeLessThan(cases(15, 60));
}, 120_000);

it('keeps nothing of refused documents', () => {
  const operations = new Operations(schema, () => {});
  const refuse = (n: number) => {
    const query = `{ ${names(20, `${n}`.padStart(90, 'n'))} ${' '.repeat(90_000)} }`;
    for (let i = 0; i < 3; i++) expect(() => operations.prepare({ query })).toThrow();
  };
  for (let n = 0; n < 20; n++) refuse(n);
  const before = heap();
  for (let n = 20; n < cases(100, 150); n++) refuse(n);
  expect(heap() - before).toBeLessThan(6);
});

it('does not keep documents that are used once', () => {
  const operations = new Operations(schema, () => {});
  for (let n = 0; n < 100; n++) operations.prepare({ query: document(n) });
  const before = heap();
  // Their ASTs would take up more than the whole cache.
  for (let n = 100; n < cases(300, 600); n++) operations.prepare({ query: document(n) });
  expect(heap() - before).toBeLessThan(6);
});

describe('documents', () => {
  const newDocuments = () => new Documents(schema, { introspection: true });
  const valid = (document: ReadDocument) => document as ValidDocument;
  const refusalOf = (text: string) => newDocuments().read(text).refusal!.errors;

  it('caches valid documents from their second use on', () => {
    for (const text of ['{ nothing }', '{']) {
      const documents = newDocuments();
      expect(new Set([1, 2, 3].map(() => documents.get(text))).size).toBe(3);
    }
    const documents = newDocuments();
    const [first, second, third, fourth] = [1, 2, 3, 4].map(() => documents.get('{ __typename }'));
    expect(second).not.toBe(first);
    expect(third === second && fourth === second).toBe(true);
  });

  it('reads as many tokens as are paid for, comments included, from the cache too', () => {
    const documents = newDocuments();
    const text = `{ ${names(139, '__typename')} } #`;
    for (let i = 0; i < 3; i++) {
      const meter = new Meter(0);
      expect(valid(documents.get(text, meter)).tokens).toBe(420);
      expect(() => documents.get(text, meter)).toThrow(AllowanceExhausted);
    }
    for (const longer of [`{ ${names(140, '__typename')} }`, `${text}\n#`, `{ ${'a '.repeat(420)} {`])
      for (let i = 0; i < 3; i++)
        expect(() => documents.get(longer, new Meter(0)), longer).toThrow(AllowanceExhausted);
    const comments = (count: number) => newDocuments().read(`{ __typename } ${'#\n'.repeat(count)}`);
    expect(valid(comments(1_997)).tokens).toBe(2_000);
    expect(comments(1_998).refusal!.errors).toMatchObject([{ extensions: { code: 'QUERY_TOO_COMPLEX' } }]);
  });

  it('refuses names of more than 100 characters, wherever they stand, and cuts what errors repeat', () => {
    const long = 'n'.repeat(101);
    for (const text of [
      `query ${long} { __typename }`,
      `query ($${long}: Int) { __typename }`,
      `{ ${long}: __typename }`,
      `{ ${long} }`,
      `{ pet(id: 1, ${long}: 2) { id } }`,
      `{ pet(id: 1) { ...${long} } }`,
      `{ pets(filter: {status: ${long}}) { totalCount } }`,
    ]) {
      const fits = newDocuments().read(text.replaceAll(long, long.slice(1)));
      expect(JSON.stringify(fits.refusal?.errors ?? []), text).not.toContain('QUERY_TOO_COMPLEX');
      expect(refusalOf(text), text).toMatchObject([
        {
          message: 'The operation has a name of more than 100 characters.',
          extensions: { code: 'QUERY_TOO_COMPLEX' },
        },
      ]);
    }
    for (const text of [
      `{ __typename } ${'n'.repeat(90_000)}`,
      `{ pets(first: "${'n'.repeat(90_000)}") { totalCount } }`,
      `{ pets(first: [${'1 '.repeat(1_900)}]) { totalCount } }`,
    ])
      expect(JSON.stringify(refusalOf(text)).length, text.slice(0, 50)).toBeLessThan(700);
  });

  it('forgets a document used once after two million characters of other documents', () => {
    const isKept = (others: number, length: number) => {
      const documents = newDocuments();
      documents.get('{ __typename }');
      for (let n = 0; n < others; n++) documents.get(`{ a${n}: __typename }`.padEnd(length, ' '));
      const again = documents.get('{ __typename }');
      return documents.get('{ __typename }') === again;
    };
    expect(isKept(19, 100_000)).toBe(true);
    expect(isKept(20, 100_000)).toBe(false);
  });

  it('reserves up to 1.5 MB per document and 24 MB in total', () => {
    const documents = newDocuments();
    const cached = (text: string) => {
      documents.get(text);
      return valid(documents.get(text));
    };
    const document = cached('{ __typename }');
    // 1 kB for the entry, 2 bytes for each of 14 characters, and 300 for each of 3 tokens.
    const free = 1_500_000 - 1_000 - 2 * 14 - 3 * 300;
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
    // The least recently used document is evicted.
    expect(documents.get('{ a1: __typename }')).not.toBe(documents.get('{ a1: __typename }'));
    expect(documents.get('{ __typename }')).toBe(document);
  });

  it('reserves nothing for documents that are not cached', () => {
    const documents = newDocuments();
    expect(documents.reserve(valid(documents.read('{ __typename }')), 1)).toBe(false);
    const first = valid(documents.get('{ __typename }'));
    expect(documents.reserve(first, 1)).toBe(false);
    documents.get('{ __typename }');
    expect(documents.reserve(first, 1)).toBe(false);
  });

  it('provides the operations and the number of tokens of a document', () => {
    const single = valid(newDocuments().read('{ __typename }'));
    expect([single.tokens, [...single.operations.keys()], single.only === single.operations.get('')]).toEqual(
      [3, [''], true],
    );
    const text = 'query A { __typename } mutation B { __typename }';
    const multiple = valid(newDocuments().read(text));
    expect([multiple.text, [...multiple.operations.keys()], multiple.only]).toEqual([
      text,
      ['A', 'B'],
      undefined,
    ]);
    expect([...multiple.operations.values()].map(({ document }) => document)).toEqual([multiple, multiple]);
  });

  it('lists 20 errors, counts up to 100 and refuses documents with more', () => {
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

  it('names the argument, field or variable whose value a scalar refuses', () => {
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

  it('refuses fields that cannot be merged, wherever they stand', () => {
    const conflict = /^Fields "\w+" conflict because/;
    for (const text of [
      '{ pets { totalCount } pets(first: 1) { totalCount } }',
      '{ pet(id: 1) { x: id x: name } }',
      '{ pet(id: 1) { ...F } } fragment F on Pet { x: id ... { x: name } }',
      // A type condition that can never apply does not make it valid (section 5.3.2).
      '{ nodes(nodeIds: ["x"]) { ... on Pet { ... on Node { ... on Order { x: id } } } ... on Category { ... on Node { ... on Order { x: complete } } } } }',
      '{ nodes(nodeIds: ["x"]) { ... on Pet { ... on Node { ... on Order { x: id x: complete } } } } }',
      'query A { __typename } query B { pet(id: 1) { x: id x: name } }',
    ]) {
      const [error, ...others] = refusalOf(text)!;
      expect(error!.message, text).toMatch(conflict);
      expect(error!.extensions, text).toEqual({ code: 'GRAPHQL_VALIDATION_FAILED', status: 400 });
      expect(others, text).toEqual([]);
    }
    for (const text of [
      '{ pets(first: 1, last: 2) { totalCount } pets(last: 2, first: 1) { totalCount } }',
      '{ nodes(nodeIds: ["x"]) { ... on Pet { x: id } ... on Category { x: id } } }',
    ])
      expect(newDocuments().read(text).refusal, text).toBeUndefined();
  });

  it('rethrows unexpected errors', () => {
    const broken = new Documents({} as never, { introspection: true });
    expect(() => broken.read('{ __typename }')).toThrow();
  });
});
