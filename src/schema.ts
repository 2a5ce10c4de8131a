import './domains/index.ts';
import './domains/event/event.type.ts';
import './domains/rate-limit.type.ts';
import './domains/api-key/api-key.type.ts';
import './domains/usage/usage.type.ts';
import './domains/webhook/webhook.type.ts';
import {
  defaultFieldResolver,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLObjectType,
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
import type { MaybePromise } from './foundation/maybe-promise.ts';
import { builder } from './kit/builder.ts';
import { Connection } from './kit/connection.ts';
import type { Context } from './kit/context.ts';
import { IdScalar } from './kit/id-scalar.ts';
import { withScopes } from './operations/scopes.ts';

/** The executable schema, also used by REST. Creating it has no side effects and needs no environment. */
export const schema = withPacedLists(
  withAwaitedPageInfo(withIdScalar(withScopes(withNodesOfPages(builder.toSchema()), RESOURCES))),
);

/** Replaces graphql-js's ID type, which Pothos always uses, with ours. */
function withIdScalar(built: GraphQLSchema): GraphQLSchema {
  const replaced = <T extends GraphQLType>(type: T): T => {
    if (isNonNullType(type)) return new GraphQLNonNull(replaced(type.ofType)) as unknown as T;
    if (isListType(type)) return new GraphQLList(replaced(type.ofType)) as unknown as T;
    return (getNamedType(type).name === IdScalar.name ? IdScalar : type) as T;
  };
  const types = built.getTypeMap();
  types[IdScalar.name] = IdScalar;
  for (const type of Object.values(types)) {
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) field.type = replaced(field.type);
    } else if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) {
        field.type = replaced(field.type);
        for (const arg of field.args) (arg as { type: GraphQLInputType }).type = replaced(arg.type);
      }
    }
  }
  return built;
}

/** Compiled code awaits the results of resolvers but not properties, and Pothos gives these fields no resolver. */
function withAwaitedPageInfo(built: GraphQLSchema): GraphQLSchema {
  const { hasNextPage, hasPreviousPage } = (built.getType('PageInfo') as GraphQLObjectType).getFields();
  hasNextPage!.resolve = (pageInfo) => pageInfo.hasNextPage;
  hasPreviousPage!.resolve = (pageInfo) => pageInfo.hasPreviousPage;
  return built;
}

/** Reads `nodes` from the page. Pothos would make an edge for each, to take its node from. */
function withNodesOfPages(built: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(built.getTypeMap())) {
    const nodes = isObjectType(type) ? type.getFields().nodes : undefined;
    const ofEdges = nodes?.resolve;
    if (!ofEdges) continue;
    nodes.resolve = (source, args, context, info) =>
      source instanceof Connection ? source.nodes : ofEdges(source, args, context, info);
  }
  return built;
}

/** Yields to other requests between the entries of lists of objects, each of which may have many fields. */
function withPacedLists(built: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(built.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      if (!isListType(getNullableType(field.type)) || !isCompositeType(getNamedType(field.type))) continue;
      const { resolve = defaultFieldResolver } = field;
      field.resolve = (source, args, context: Context, info) => {
        const list = resolve(source, args, context, info) as MaybePromise<readonly unknown[]>;
        return list instanceof Promise
          ? list.then((settled) => context.loaders.entries(settled))
          : context.loaders.entries(list);
      };
    }
  }
  return built;
}
