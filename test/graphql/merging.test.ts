import fc from 'fast-check';
import { OverlappingFieldsCanBeMergedRule, parse, specifiedRules, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { findMergeConflicts } from '../../src/graphql/merging.ts';
import { schema } from '../../src/graphql/schema.ts';

const OTHER_RULES = specifiedRules.filter((rule) => rule !== OverlappingFieldsCanBeMergedRule);
const RUNS = Number(process.env.PROPERTY_RUNS ?? 1_000);

/** Fields that often conflict: one key for several fields, one field with several arguments. */
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
    const inline = on.chain((one) =>
      selectionOf(one, depth - 1, from).map(
        (part) => `... on ${one === 'Pets' ? 'QueryPetsConnection' : one} ${part}`,
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
    for (const one of fragments) if (text.includes(`...${one.name}`)) text += one.text;
    return text;
  });

describe('Fields under one response key', () => {
  it('conflict for us where they do for graphql-js', () => {
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
  ])('are named: %s', (text, message) => {
    const [conflict] = findMergeConflicts(schema, parse(text));
    expect(conflict!.message).toContain(message);
    expect(conflict!.locations).toHaveLength(2);
    expect(conflict!.message).toBe(
      validate(schema, parse(text), [OverlappingFieldsCanBeMergedRule])[0]!.message,
    );
  });
});
