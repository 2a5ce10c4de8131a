import type { GraphQLSchema } from 'graphql';
import { memoized } from '../foundation/cache.ts';
import { type Id, parseId } from '../foundation/id.ts';
import { andThen, type MaybePromise } from '../foundation/turns.ts';
import type { AnyDeclaration } from '../foundation/record.ts';
import { OPAQUE, withRule } from './arguments.ts';
import type { Builder } from './builder.ts';
import { MAX_PAGE_SIZE } from './list-connection.ts';
import type { Context } from './context.ts';
import { mayRead } from './required-scopes.ts';

/** The description of nodeId fields. */
const NODE_ID =
  'An opaque id, unique across all types, for clients that cache records of all types together.';

/** The nodeId of a record. Clients may store it, so its format must never change. */
const nodeIdOf = (type: string, id: Id): string => Buffer.from(`${type}:${id}`).toString('base64url');

/** The records of a schema's types that implement Node, by type name. */
const nodeTypesOf = memoized((_: Builder) => new Map<string, AnyDeclaration>());

/**
 * Makes a type implement Node. `nodeId` is unique across all types, whereas `id` is unique within one.
 *
 * @param type the name of the type for the record or its view
 * @returns the interface, and the options of nodeId
 */
export function implementNode(builder: Builder, declaration: AnyDeclaration, type = declaration.type) {
  nodeTypesOf(builder).set(type, declaration);
  return {
    interfaces: [nodeInterfaceOf(builder)],
    nodeId: { description: NODE_ID, resolve: ({ id }: { id: Id }) => nodeIdOf(type, id) },
  };
}

/** Relay's Node interface, with the fields that look it up. */
const nodeInterfaceOf = memoized((builder: Builder) => {
  const types = nodeTypesOf(builder);

  /** Finds a record by nodeId; null if it doesn't exist, the key may not read it or the nodeId is malformed. */
  function nodeOf(nodeId: string, context: Context, schema: GraphQLSchema): MaybePromise<object | null> {
    const [type, id] = Buffer.from(nodeId, 'base64url').toString('latin1').split(':') as [string, string];
    const record = types.get(type);
    if (!record || nodeIdOf(type, id) !== nodeId || parseId(id) === null) return null;
    if (!mayRead(context.principal, schema.getType(type)!)) return null;
    return andThen(context.loaders.record(record, id), (row) => row && { __typename: type, ...row });
  }

  const NodeInterface = builder.interfaceRef<object>('Node').implement({
    description: 'A record with an id that is unique across all types.',
    fields: (t) => ({ nodeId: t.id({ description: NODE_ID }) }),
    // A record doesn't determine its type: pets and inventory entries are the same records.
    resolveType: (node) => (node as { __typename: string }).__typename,
  });
  builder.queryFields((t) => ({
    node: t.field({
      type: NodeInterface,
      nullable: true,
      description: 'Looks up a record by nodeId; null if there is none.',
      args: { nodeId: t.arg.id({ required: true, description: 'A nodeId.', extensions: OPAQUE }) },
      resolve: (_root, { nodeId }, context, { schema }) => nodeOf(nodeId, context, schema),
    }),
    nodes: t.field({
      type: [NodeInterface],
      nullable: { list: false, items: true },
      description: 'Looks up records by nodeId, in the given order; null for each that does not exist.',
      args: {
        nodeIds: t.arg.idList({
          required: true,
          description: `At most ${MAX_PAGE_SIZE} nodeIds.`,
          extensions: { ...OPAQUE, ...withRule(nodeIdsRule) },
        }),
      },
      resolve: (_root, { nodeIds }, context, { schema }) =>
        nodeIds.map((nodeId) => nodeOf(nodeId, context, schema)),
    }),
  }));
  return NodeInterface;
});

const nodeIdsRule = ({ nodeIds }: { nodeIds: readonly string[] }) =>
  nodeIds.length > MAX_PAGE_SIZE
    ? [{ path: 'nodeIds', message: `must have at most ${MAX_PAGE_SIZE} items` }]
    : [];
