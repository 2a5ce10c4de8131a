import '../domains/index.ts';
import '../domains/event/event.type.ts';
import '../domains/rate-limit.type.ts';
import '../domains/api-key/api-key.type.ts';
import '../domains/usage/usage.type.ts';
import '../domains/webhook/webhook.type.ts';
import {
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLType,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { RESOURCES } from '../domains/routes.ts';
import { builder } from '../schema/builder.ts';
import { IdScalar } from '../schema/id-scalar.ts';
import { withScopes } from './scopes.ts';

/** The executable schema, also used by REST. Creating it has no side effects and needs no environment. */
export const schema = withAwaitedPageInfo(withIdScalar(withScopes(builder.toSchema(), RESOURCES)));

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

/**
 * Compiled code awaits the results of resolvers but not properties, and Pothos gives these fields no
 * resolver.
 */
function withAwaitedPageInfo(built: GraphQLSchema): GraphQLSchema {
  const { hasNextPage, hasPreviousPage } = (built.getType('PageInfo') as GraphQLObjectType).getFields();
  hasNextPage!.resolve = (pageInfo) => pageInfo.hasNextPage;
  hasPreviousPage!.resolve = (pageInfo) => pageInfo.hasPreviousPage;
  return built;
}
