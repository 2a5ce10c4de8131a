import './domains/index.ts';
import './domains/event/event.type.ts';
import './domains/rate-limit.type.ts';
import './domains/webhook/webhook.type.ts';
import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  getNullableType,
  isCompositeType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { RESOURCES } from './domains/routes.ts';
import { andThen, type MaybePromise } from './foundation/maybe-promise.ts';
import { IdScalar } from './kit/arguments.ts';
import { builder } from './kit/builder.ts';
import { Connection } from './kit/connection.ts';
import type { Context } from './kit/context.ts';
import { withScopes } from './kit/scopes.ts';

/** The executable schema, also used by REST. Creating it has no side effects and needs no environment. */
export const schema = adapted(withScopes(builder.toSchema(), RESOURCES));

/** Replaces graphql-js's ID type, which Pothos always uses, with ours, and resolvers of fields that Pothos leaves to defaults. */
function adapted(built: GraphQLSchema): GraphQLSchema {
  const types = built.getTypeMap();
  types[IdScalar.name] = IdScalar;
  for (const type of Object.values(types)) {
    if (type.name.startsWith('__')) continue;
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) field.type = withIdScalar(field.type);
    } else if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) {
        field.type = withIdScalar(field.type);
        for (const arg of field.args) (arg as { type: GraphQLInputType }).type = withIdScalar(arg.type);
        if (isObjectType(type)) adaptResolver(type.name, field);
      }
    }
  }
  return built;
}

function withIdScalar<T extends GraphQLType>(type: T): T {
  if (isNonNullType(type)) return new GraphQLNonNull(withIdScalar(type.ofType)) as unknown as T;
  if (isListType(type)) return new GraphQLList(withIdScalar(type.ofType)) as unknown as T;
  return (getNamedType(type).name === IdScalar.name ? IdScalar : type) as T;
}

function adaptResolver(type: string, field: GraphQLField<unknown, Context>): void {
  const { name, resolve = defaultFieldResolver } = field;
  // Compiled code awaits the results of resolvers but not properties.
  if (type === 'PageInfo')
    field.resolve = (source, args, context, info) => defaultFieldResolver(source, args, context, info);
  if (!isListType(getNullableType(field.type)) || !isCompositeType(getNamedType(field.type))) return;
  // Pothos would make an edge for each of the nodes of a page, to take the node from it.
  const list: typeof resolve =
    name === 'nodes' && field.resolve
      ? (source, ...rest) => (source instanceof Connection ? source.nodes : resolve(source, ...rest))
      : resolve;
  // Yields to other requests between the entries, each of which may have many fields.
  field.resolve = (source, args, context, info) =>
    andThen(list(source, args, context, info) as MaybePromise<readonly unknown[]>, (entries) =>
      context.loaders.entries(entries),
    );
}
