import type { GraphQLInterfaceType } from 'graphql';
import { it } from 'vitest';
import { schema } from '../../src/schema.ts';
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
