import fc from 'fast-check';
import { Kind, type OperationDefinitionNode, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { admit } from '../../src/graphql/admission.ts';
import { OperationRefused, Operations } from '../../src/graphql/operations.ts';
import { priceOf } from '../../src/graphql/price.ts';
import { schema } from '../../src/graphql/schema.ts';

function price(text: string, variables: Record<string, unknown> = {}): number {
  const document = parse(text);
  expect(validate(schema, document), text).toEqual([]);
  const operation = document.definitions.find(
    (node): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION,
  );
  return priceOf(schema, document, operation!, variables).units;
}

describe('the price of an operation', () => {
  it.each<[string, number, Record<string, unknown>?]>([
    ['{ pet(id: 1) { name } }', 1],
    ['{ pets { nodes { id } } }', 1],
    ['{ pets(first: 100) { nodes { id } } }', 1],
    ['{ categories(first: 50) { nodes { pets(first: 10) { nodes { id } } } } }', 6],
    ['{ categories(last: 50) { edges { node { pets(last: 10) { nodes { id } } } } } }', 6],
    ['{ categories { nodes { pets { nodes { id } } } } }', 5],
    [
      '{ categories(first: 10) { nodes { pets(first: 10) { nodes { orders(first: 10) { nodes { id } } } } } } }',
      12,
    ],
    ['{ pet(id: 1) { category { pets(first: 100) { nodes { orders(first: 1) { nodes { id } } } } } } }', 2],
    ['{ rateLimit { plan } }', 0],
    ['{ __typename }', 0],
    ['{ __typename rateLimit { plan } pet(id: 1) { id } }', 1],
    ['{ __schema { types { name } } }', 1],
    ['{ __type(name: "Pet") { name } }', 1],
    ['{ a: pet(id: 1) { id } b: pet(id: 2) { id } pets { nodes { id } } }', 3],
    ['{ pet(id: 1) { id } pet(id: 1) { name } }', 1],
    ['{ pets(first: 100) { nodes { id } edges { node { id } } totalCount } }', 1],
    ['mutation { createCategory(input: {name: "x"}) { pets(first: 100) { nodes { id } } } }', 1],
    ['mutation { a: deletePet(id: 1) b: deletePet(id: 2) }', 2],
    ['query($n: Int) { categories(first: $n) { nodes { pets(first: $n) { nodes { id } } } } }', 5],
    [
      'query($n: Int) { categories(first: $n) { nodes { pets(first: $n) { nodes { id } } } } }',
      26,
      { n: 50 },
    ],
    [
      'query($yes: Boolean!) { pet(id: 1) { id } pets @include(if: $yes) { nodes { id } } }',
      2,
      { yes: true },
    ],
    [
      'query($yes: Boolean!) { pet(id: 1) { id } pets @include(if: $yes) { nodes { id } } }',
      1,
      { yes: false },
    ],
    ['{ pet(id: 1) @skip(if: true) { id } }', 0],
  ])('%s is %i', (text, units, variables) => {
    expect(price(text, variables)).toBe(units);
  });

  it('takes the default of a variable for its value', () => {
    const text =
      'query($n: Int = 50) { categories(first: $n) { nodes { pets(first: 10) { nodes { id } } } } }';
    const operations = new Operations(schema, () => {});
    expect(operations.prepare({ query: text }).price).toBe(6);
    expect(operations.prepare({ query: text, variables: { n: 10 } }).price).toBe(2);
    expect(operations.prepare({ query: text }).price).toBe(6);
  });

  it.each([
    ['too dear', '{ categories(first: 100) { nodes { pets(first: 51) { nodes { id } } } } }'],
    ['too many roots', `{ ${Array.from({ length: 51 }, (_, i) => `a${i}: pet(id: 1) { id }`).join(' ')} }`],
    [
      'too deep',
      `{ pet(id: 1) { ${'category { pets(first: 1) { nodes { '.repeat(11)}id${' } } }'.repeat(11)} } }`,
    ],
    [
      'doubling with each alias',
      `{ pet(id: 1) { ...F0 } } ${Array.from({ length: 20 }, (_, i) => {
        const next = i < 19 ? `...F${i + 1}` : 'id';
        return `fragment F${i} on Pet { a: inventory { pet { ${next} } } b: inventory { pet { ${next} } } }`;
      }).join(' ')}`,
    ],
    [
      'doubling with each fragment',
      `{ pet(id: 1) { ...F0 } } ${Array.from({ length: 60 }, (_, i) => `fragment F${i} on Pet { id ${i < 59 ? `...F${i + 1} ...F${i + 1}` : ''} }`).join(' ')}`,
    ],
  ])('refuses what is %s, quickly', (_what, query) => {
    const began = performance.now();
    const operations = new Operations(schema, () => {});
    const [admitted] = admit(operations, { query }, true).operations;
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(admitted).toBeInstanceOf(OperationRefused);
    expect((admitted as OperationRefused).errors[0]?.extensions).toEqual({
      code: 'QUERY_TOO_COMPLEX',
      status: 400,
    });
  });
});

/** A selection as text, twice: with fragments and directives, and as execution sees it. */
interface Pair {
  written: string;
  inlined: string;
}

const size = fc.integer({ min: 1, max: 12 });
const leaf = (name: string): Pair => ({ written: name, inlined: name });
const join = (pairs: readonly Pair[]): Pair => ({
  written: pairs.map(({ written }) => written).join(' '),
  inlined: pairs.map(({ inlined }) => inlined).join(' '),
});
const within = (head: string, inner: Pair, tail: string): Pair => ({
  written: head + inner.written + tail,
  inlined: head + inner.inlined + tail,
});

/** Wraps a selection into what changes nothing, or takes something out that is not executed. */
const dressed = (type: string, inner: fc.Arbitrary<Pair>): fc.Arbitrary<Pair> =>
  fc.tuple(inner, fc.constantFrom('plain', 'inline', 'include', 'skipped')).map(([pair, how]) => {
    if (how === 'inline') return { ...pair, written: `... on ${type} { ${pair.written} }` };
    if (how === 'include') return { ...pair, written: `... @include(if: true) { ${pair.written} }` };
    if (how === 'skipped')
      return { ...pair, written: `${pair.written} ... @skip(if: true) { skipped: __typename }` };
    return pair;
  });

const { pet: petSelection } = fc.letrec<{ pet: Pair; category: Pair }>((tie) => ({
  pet: dressed(
    'Pet',
    fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(leaf('id'), leaf('name')),
      tie('category').map((inner) => within('category { ', inner, ' }')),
      size.map((n) => leaf(`orders(first: ${n}) { nodes { id } }`)),
      fc
        .tuple(tie('pet'), size)
        .map(([inner, n]) =>
          join([leaf('id'), within(`inventory { pet { `, inner, ` } } orders(last: ${n}) { totalCount }`)]),
        ),
    ),
  ),
  category: dressed(
    'Category',
    fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(leaf('id'), leaf('name')),
      fc.tuple(tie('pet'), size).map(([inner, n]) => within(`pets(first: ${n}) { nodes { `, inner, ' } }')),
    ),
  ),
}));
const RUNS = { numRuns: Number(process.env.PROPERTY_RUNS ?? 500) };

const priceOrRefusal = (text: string): number | string => {
  try {
    return price(text);
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe('properties of the price', () => {
  it('fragments and directives that change nothing never change it', () => {
    fc.assert(
      fc.property(petSelection, ({ written, inlined }) => {
        const named = `query { pet(id: 1) { ...F } } fragment F on Pet { ${written} }`;
        expect(priceOrRefusal(named)).toBe(priceOrRefusal(`{ pet(id: 1) { ${inlined} } }`));
      }),
      RUNS,
    );
  });

  it('k aliases cost k times', () => {
    fc.assert(
      fc.property(petSelection, fc.integer({ min: 1, max: 8 }), ({ inlined }, k) => {
        const one = priceOrRefusal(`{ pets(first: 3) { nodes { ${inlined} } } }`);
        fc.pre(typeof one === 'number' && one * k <= 50);
        const aliases = Array.from({ length: k }, (_, i) => `a${i}: pets(first: 3) { nodes { ${inlined} } }`);
        expect(price(`{ ${aliases.join(' ')} }`)).toBe((one as number) * k);
      }),
      RUNS,
    );
  });

  it('of a batch is the sum', () => {
    const operations = new Operations(schema, () => {});
    fc.assert(
      fc.property(fc.array(petSelection, { minLength: 1, maxLength: 10 }), (selections) => {
        const queries = selections.map(({ inlined }) => `{ pets(first: 2) { nodes { ${inlined} } } }`);
        const prices = queries.map(priceOrRefusal);
        // A refused operation costs one unit.
        const sum = prices.reduce<number>((total, one) => total + (typeof one === 'number' ? one : 1), 0);
        expect(
          admit(
            operations,
            queries.map((query) => ({ query })),
            true,
          ).cost,
        ).toBe(sum);
      }),
      RUNS,
    );
  });

  it('is at least that of any part of the operation', () => {
    fc.assert(
      fc.property(petSelection, petSelection, (a, b) => {
        const both = priceOrRefusal(
          `{ a: pets { nodes { ${a.inlined} } } b: pets { nodes { ${b.inlined} } } }`,
        );
        const one = priceOrRefusal(`{ a: pets { nodes { ${a.inlined} } } }`);
        fc.pre(typeof both === 'number');
        expect(both).toBeGreaterThan(one as number);
      }),
      RUNS,
    );
  });
});
