import { GraphQLInputObjectType, GraphQLList, GraphQLNonNull, GraphQLString } from 'graphql';
import { describe, expect, it } from 'vitest';
import { ID_RULE } from '../../src/foundation/id.ts';
import { IdScalar, idIssues } from '../../src/kit/arguments.ts';
import { dataOf, expectQueryRefusal, query, sqlite, useGateway } from './petstore.ts';

const Inner = new GraphQLInputObjectType({
  name: 'Inner',
  fields: { id: { type: new GraphQLNonNull(IdScalar) }, text: { type: GraphQLString } },
});
const Outer = new GraphQLInputObjectType({
  name: 'Outer',
  fields: {
    id: { type: IdScalar },
    ids: { type: new GraphQLList(new GraphQLNonNull(IdScalar)) },
    inner: { type: Inner },
    list: { type: new GraphQLNonNull(new GraphQLList(Inner)) },
  },
});

describe('malformed ids in variables', () => {
  it.each([
    [IdScalar, '1', []],
    [IdScalar, null, []],
    [IdScalar, 'x', ['v']],
    [new GraphQLNonNull(IdScalar), '0', ['v']],
    [new GraphQLList(IdScalar), ['1', 'x', null, '01'], ['v.1', 'v.3']],
    [new GraphQLList(new GraphQLList(IdScalar)), [['1'], ['2', 'x']], ['v.1.1']],
    [Outer, { ids: ['1', '-1'], inner: { id: 'x', text: 'y' } }, ['ids.1', 'inner.id']],
    [Outer, { id: '1.0', list: [{ id: '1' }, { id: '1e3' }] }, ['id', 'list.1.id']],
    [new GraphQLList(Outer), [{ id: '+1' }], ['v.0.id']],
    [GraphQLString, 'x', []],
  ])('lists the malformed ids in a value of type %s: %j', (type, value, paths) => {
    expect(idIssues(type, value, 'v')).toEqual(paths.map((path) => ({ path, message: ID_RULE })));
  });
});

describe('opaque ids', () => {
  const kit = useGateway(sqlite);

  it('accepts any text as the default of a variable used only for opaque ids', async () => {
    for (const text of [
      'query ($i: ID! = "x") { n: node(nodeId: $i) { nodeId } }',
      'query ($i: ID = "x") { n: node(nodeId: $i) { nodeId } }',
      'query ($p: ID! = 1, $i: ID! = "x") { n: node(nodeId: $i) { nodeId } pet(id: $p) { id } }',
      'query ($i: ID! = "x") { ...F } fragment F on Query { n: node(nodeId: $i) { nodeId } }',
    ])
      expect(dataOf(await query(kit.gateway, text)).n, text).toBeNull();
    const list = 'query ($i: [ID!]! = ["x", "y", 7]) { nodes(nodeIds: $i) { nodeId } }';
    expect(dataOf(await query(kit.gateway, list))).toEqual({ nodes: [null, null, null] });
    for (const text of [
      'query ($p: ID! = "x", $i: ID! = "x") { node(nodeId: $i) { nodeId } pet(id: $p) { id } }',
      'query ($i: ID! = "x") { node(nodeId: $i) { nodeId } ...F } fragment F on Query { pet(id: $i) { id } }',
    ])
      expectQueryRefusal(await query(kit.gateway, text), 'VALIDATION_FAILED', new RegExp(ID_RULE));
  });
});
