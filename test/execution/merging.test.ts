import fc from 'fast-check';
import {
  buildSchema,
  type GraphQLSchema,
  OverlappingFieldsCanBeMergedRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { findMergeConflicts } from '../../src/execution/merging.ts';
import { schema } from '../../src/execution/schema.ts';

const OTHER_RULES = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);
const RUNS = Number(process.env.PROPERTY_RUNS ?? 1_000);

/** Fields that often conflict: several under one key, or one with different arguments. */
const FIELDS: Record<string, readonly (readonly [text: string, below?: string])[]> = {
  Query: [
    ['pet(id: 1)', 'Pet'],
    ['pet(id: 2)', 'Pet'],
    ['pet: node(nodeId: "x")', 'Node'],
    ['x: order(id: 1)', 'Order'],
    ['x: node(nodeId: "x")', 'Node'],
    ['pets(filter: {status: [sold], categoryId: 1}, first: 1)', 'Pets'],
    ['pets(first: 1, filter: {categoryId: 1, status: [sold]})', 'Pets'],
    ['pets(first: 1, filter: {categoryId: 1, status: [pending]})', 'Pets'],
    ['node(nodeId: "x")', 'Node'],
    ['__typename'],
  ],
  Pet: [
    ['id'],
    ['x: id'],
    ['x: name'],
    ['x: category', 'Category'],
    ['name'],
    ['category', 'Category'],
    ['status'],
  ],
  Category: [['id'], ['x: id'], ['x: description'], ['name'], ['x: name'], ['status: name']],
  Order: [['id'], ['x: pet', 'Pet'], ['x: petId'], ['name: quantity'], ['category: pet', 'Pet']],
  Pets: [['nodes', 'Pet'], ['x: nodes', 'Pet'], ['x: totalCount'], ['nodes: totalCount']],
  Node: [['nodeId'], ['x: nodeId'], ['id: nodeId']],
};
const FRAGMENTS = [
  ['F0', 'Pet'],
  ['F1', 'Category'],
  ['F2', 'Node'],
  ['F3', 'Pet'],
  ['F4', 'Order'],
] as const;
const NODES = ['Pet', 'Category', 'Order'];

function selectionOf(type: string, depth: number, from: number): fc.Arbitrary<string> {
  const field = fc
    .constantFrom(...FIELDS[type]!.filter(([, below]) => depth > 0 || !below))
    .chain(([text, below]) =>
      (below ? selectionOf(below, depth - 1, from) : fc.constant('')).map((part) => `${text} ${part}`),
    );
  const choices = [{ weight: 6, arbitrary: field }];
  const spreads = FRAGMENTS.slice(from).filter(([, on]) => on === type || type === 'Node');
  if (spreads.length > 0)
    choices.push({ weight: 2, arbitrary: fc.constantFrom(...spreads).map(([name]) => `...${name}`) });
  if (depth > 0) {
    const on = type === 'Node' ? fc.constantFrom(...NODES) : fc.constant(type);
    const inline = on.chain((condition) =>
      selectionOf(condition, depth - 1, from).map(
        (part) => `... on ${condition === 'Pets' ? 'QueryPetsConnection' : condition} ${part}`,
      ),
    );
    choices.push({ weight: 2, arbitrary: inline });
  }
  return fc
    .array(fc.oneof(...choices), { minLength: 1, maxLength: 3 })
    .map((parts) => `{ ${parts.join(' ')} }`);
}

const documents = fc
  .tuple(
    selectionOf('Query', 3, 0),
    ...FRAGMENTS.map(([name, on], i) =>
      selectionOf(on, 2, i + 1).map((selection) => ({
        name,
        text: ` fragment ${name} on ${on} ${selection}`,
      })),
    ),
  )
  .map(([selection, ...fragments]) => {
    let text = selection;
    for (const fragment of fragments) if (text.includes(`...${fragment.name}`)) text += fragment.text;
    return text;
  });

describe('fields with one response key', () => {
  it('finds conflicts in the same documents as graphql-js', () => {
    let conflicting = 0;
    fc.assert(
      fc.property(documents, (text) => {
        const document = parse(text);
        expect(validate(schema, document, OTHER_RULES), text).toEqual([]);
        const expected = validate(schema, document, [OverlappingFieldsCanBeMergedRule]);
        if (expected.length > 0) conflicting++;
        expect(findMergeConflicts(schema, document).length > 0, text).toBe(expected.length > 0);
      }),
      { numRuns: RUNS },
    );
    expect(conflicting).toBeGreaterThan(RUNS / 20);
    expect(conflicting).toBeLessThan(RUNS * 0.95);
  });

  it.each([
    ['{ pet(id: 1) { x: id x: name } }', 'Fields "x" conflict because "id" and "name" are different fields.'],
    [
      '{ pet(id: 1) { id } pet(id: 2) { id } }',
      'Fields "pet" conflict because they have differing arguments.',
    ],
    [
      '{ node(nodeId: "x") { ... on Order { x: petId } ... on Pet { x: id } } }',
      'Fields "x" conflict because they return conflicting types "ID" and "ID!".',
    ],
  ])('reports the conflict in %s with the message of graphql-js', (text, message) => {
    const [conflict] = findMergeConflicts(schema, parse(text));
    expect(conflict!.message).toContain(message);
    expect(conflict!.locations).toHaveLength(2);
    expect(conflict!.message).toBe(
      validate(schema, parse(text), [OverlappingFieldsCanBeMergedRule])[0]!.message,
    );
  });

  /** Expects graphql-js and our implementation to agree on whether there is a conflict. */
  function expectConflict(isConflict: boolean, text: string, testSchema: GraphQLSchema = schema): void {
    const document = parse(text);
    expect(validate(testSchema, document, OTHER_RULES), text).toEqual([]);
    expect(validate(testSchema, document, [OverlappingFieldsCanBeMergedRule]).length > 0, text).toBe(
      isConflict,
    );
    expect(findMergeConflicts(testSchema, document).length > 0, text).toBe(isConflict);
  }

  it.each<[isConflict: boolean, one: string, other: string]>([
    [false, 'pets', 'pets'],
    [true, 'pets', 'pets(first: 1)'],
    [true, 'pets(first: 1)', 'pets(last: 1)'],
    [true, 'pets(first: 1)', 'pets(first: 1, last: 1)'],
    [false, 'pets(first: 1, last: 2)', 'pets(last: 2, first: 1)'],
    [true, 'pets(first: 1, last: 2)', 'pets(first: 2, last: 1)'],
    [false, 'pets(after: "1")', 'pets(after: "1")'],
    [true, 'pets(filter: {categoryId: 1})', 'pets(filter: {categoryId: "1"})'],
    [true, 'pets(filter: {status: sold})', 'pets(filter: {status: [sold]})'],
    [true, 'pets(filter: {status: [sold, pending]})', 'pets(filter: {status: [pending, sold]})'],
    [false, 'pets(filter: {status: [sold], categoryId: 1})', 'pets(filter: {categoryId: 1, status: [sold]})'],
    [true, 'pets(filter: {status: [sold], categoryId: 1})', 'pets(filter: {categoryId: 2, status: [sold]})'],
    [true, 'pets(filter: {})', 'pets'],
    [false, 'categories', 'x: pets'],
    [true, 'pets: categories', 'pets'],
  ])('returns conflict = %s for %s and %s, as graphql-js does', (isConflict, one, other) => {
    const below = '{ totalCount }';
    expectConflict(isConflict, `{ ${one} ${below} ${other} ${below} }`);
    expectConflict(isConflict, `{ ${other} ${below} ... { ${one} ${below} } }`);
    expectConflict(isConflict, `{ ${one} ${below} ...F } fragment F on Query { ${other} ${below} }`);
    expectConflict(isConflict, `query A { __typename } query B { ${one} ${below} ${other} ${below} }`);
  });

  it('ignores the order of input object fields, but not of list items', () => {
    const nested = buildSchema(
      'input I { a: Int b: Int c: Int i: I l: [I] } type Query { f(i: I, l: [[I]]): Int }',
    );
    for (const [isConflict, one, other] of [
      [false, 'i: {a: 1, b: 2, c: 3}', 'i: {c: 3, a: 1, b: 2}'],
      [false, 'i: {a: 1, i: {a: 1, b: 2}}', 'i: {i: {b: 2, a: 1}, a: 1}'],
      [true, 'i: {a: 1, i: {a: 1, b: 2}}', 'i: {i: {b: 1, a: 2}, a: 1}'],
      [false, 'i: {l: [{a: 1, b: 2}]}', 'i: {l: [{b: 2, a: 1}]}'],
      [true, 'i: {l: [{a: 1, b: 2}]}', 'i: {l: [{b: 2}, {a: 1}]}'],
      [false, 'l: [[{a: 1, b: 2}], []]', 'l: [[{b: 2, a: 1}], []]'],
      [true, 'l: [[{a: 1}], []]', 'l: [[], [{a: 1}]]'],
      [false, 'i: {a: 1}, l: []', 'l: [], i: {a: 1}'],
    ] as const)
      expectConflict(isConflict, `{ f(${one}) f(${other}) }`, nested);
  });

  it('requires fields of different types to have the same shape, as graphql-js does', () => {
    const types = [
      'Int',
      'Int!',
      'String',
      '[Int]',
      '[Int!]',
      '[Int]!',
      '[[Int]]',
      'E',
      'A',
      'A!',
      '[A]',
      'N',
      '[N!]',
      'B',
    ];
    const fields = types.map((type, i) => `f${i}: ${type}`).join(' ');
    const shapes = buildSchema(
      `enum E { e } interface N { n: Int } type A implements N { n: Int ${fields} } type B implements N { n: Int ${fields} } type Query { n: N }`,
    );
    const below = (i: number) => (/[ABN]/.test(types[i]!) ? '{ n }' : '');
    let conflicts = 0;
    for (const [i] of types.entries())
      for (const [j] of types.entries()) {
        const text = `{ n { ... on A { x: f${i} ${below(i)} } ... on B { x: f${j} ${below(j)} } } }`;
        const isConflict = validate(shapes, parse(text), [OverlappingFieldsCanBeMergedRule]).length > 0;
        if (isConflict) conflicts++;
        expectConflict(isConflict, text, shapes);
      }
    expect(conflicts).toBeGreaterThan(100);
    expect(conflicts).toBeLessThan(types.length ** 2 - types.length);
    for (const [isConflict, one, other] of [
      [false, 'f8 { x: f0 }', 'f13 { x: f0 }'],
      [true, 'f8 { x: f0 }', 'f13 { x: f2 }'],
      [false, 'f8 { x: f0 }', 'f13 { y: f2 }'],
      [true, 'f8 { a: f8 { x: f0 } }', 'f13 { a: f13 { x: f1 } }'],
      [false, 'f8 { a: f8 { x: n } }', 'f13 { a: f13 { x: f0 } }'],
      [true, 'f11 { ... on A { x: f0 } }', 'f11 { ... on B { x: f1 } }'],
      [true, 'f8 { x: f0 } y: f8 { x: f0 }', 'f13 { x: f0 } y: f13 { x: f2 }'],
    ] as const) {
      const keyed = (text: string) => text.replace(/^f\d+/, 'k: $&');
      expectConflict(isConflict, `{ n { ... on A { ${keyed(one)} } ... on B { ${keyed(other)} } } }`, shapes);
    }
  });

  it('reports at most 100 conflicts', () => {
    const conflicts = (count: number) => {
      const fields = Array.from({ length: count }, (_, i) => `a${i}: id a${i}: name`).join(' ');
      return findMergeConflicts(schema, parse(`{ pet(id: 1) { ${fields} } }`)).length;
    };
    expect([1, 99, 100, 101, 150].map(conflicts)).toEqual([1, 99, 100, 100, 100]);
    const text = '{ pet(id: 1) { x: id x: name x: status x: id } }';
    expect(findMergeConflicts(schema, parse(text))).toHaveLength(2);
  });
});
