import type { GraphQLInterfaceType } from 'graphql';
import { expect, it } from 'vitest';
import { schema } from '../../src/execution/schema.ts';
import { dataOf, expectQueryRefusal, makeWorld, query, sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);

/** Nested levels, alternating between a pet and its inventory. */
const nested = (levels: number, field = 'inventory'): string =>
  levels === 1 ? 'id' : `${field} { ${nested(levels - 1, field === 'pet' ? 'inventory' : 'pet')} }`;

it('allows 30 levels and refuses 31', async () => {
  const { P } = await makeWorld(kit);
  const text = (levels: number) => `{ pet(id: ${P}) { ${nested(levels - 1)} } }`;
  for (let time = 0; time < 3; time++) {
    dataOf(await query(kit.gateway, text(30)));
    expectQueryRefusal(
      await query(kit.gateway, text(31)),
      'QUERY_TOO_COMPLEX',
      'The operation is nested more than 30 levels deep.',
    );
  }
});

it('allows 10,000 fields over all possible types and refuses more', async () => {
  const aliases = Array.from({ length: 99 }, (_, i) => `a${i}: nodeId`).join(' ');
  const types = schema.getPossibleTypes(schema.getType('Node') as GraphQLInterfaceType).length;
  // The nodes themselves are fields too.
  const nodes = Math.floor(10_000 / (types * 99 + 1));
  const rest = 10_000 - nodes * (types * 99 + 1);
  const text = (more: string) =>
    `{ ${Array.from({ length: nodes }, (_, i) => `n${i}: node(nodeId: "x") { ...F }`).join(' ')} ${more} } fragment F on Node { ${aliases} }`;
  const more = (count: number) => Array.from({ length: count }, (_, i) => `t${i}: __typename`).join(' ');
  dataOf(await query(kit.gateway, text(more(rest))));
  expectQueryRefusal(
    await query(kit.gateway, text(more(rest + 1))),
    'QUERY_TOO_COMPLEX',
    'The operation selects more than 10000 fields.',
  );
});

it.each([
  ['@skip(if: $yes)', { yes: true }, false],
  ['@skip(if: $yes)', { yes: false }, true],
  ['@include(if: $yes)', { yes: true }, true],
  ['@include(if: $yes)', { yes: false }, false],
  ['@skip(if: true)', {}, false],
  ['@skip(if: false)', {}, true],
  ['@include(if: true)', {}, true],
  ['@include(if: false)', {}, false],
  ['@include(if: $yes) @skip(if: false)', { yes: true }, true],
  ['@include(if: $yes) @skip(if: true)', { yes: true }, false],
  ['@skip(if: false) @include(if: $yes)', { yes: false }, false],
])('applies %s with %j to fields and fragments alike', async (directives, variables, isSelected) => {
  const definition = 'yes' in variables ? 'query ($yes: Boolean!) ' : '';
  for (const selection of [
    `x: __typename ${directives}`,
    `... ${directives} { x: __typename }`,
    `... on Query ${directives} { x: __typename }`,
    `...F ${directives}`,
  ]) {
    const fragment = selection.startsWith('...F') ? 'fragment F on Query { x: __typename }' : '';
    const text = `${definition}{ y: __typename ${selection} } ${fragment}`;
    for (let time = 0; time < 2; time++)
      expect(dataOf(await query(kit.gateway, text, variables)), text).toEqual({
        y: 'Query',
        ...(isSelected && { x: 'Query' }),
      });
  }
});
