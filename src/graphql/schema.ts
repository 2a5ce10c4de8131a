import '../domains/index.ts';
import '../domains/event/event.type.ts';
import '../domains/rate-limit.type.ts';
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
import { builder } from './builder.ts';
import { IdScalar } from './id-scalar.ts';
import { rootField } from './mutation.ts';

/** The executable schema, which REST runs too. Making it opens nothing and needs no environment. */
export const schema = withMutations(withAwaitedPageInfo(withIdScalar(builder.toSchema())));

/**
 * Pothos always builds the ID of graphql-js, which takes any text. This puts the stricter one in its place, wherever a
 * type refers to it.
 */
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

/** Compiled code awaits what a resolver returns but not what a property holds, and Pothos gives these fields no resolver. */
function withAwaitedPageInfo(built: GraphQLSchema): GraphQLSchema {
  const { hasNextPage, hasPreviousPage } = (built.getType('PageInfo') as GraphQLObjectType).getFields();
  hasNextPage!.resolve = (pageInfo) => pageInfo.hasNextPage;
  hasPreviousPage!.resolve = (pageInfo) => pageInfo.hasPreviousPage;
  return built;
}

/** What Pothos makes of a resolver checks its arguments first; the operation must know of each field before that. */
function withMutations(built: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(built.getMutationType()!.getFields()))
    field.resolve = rootField(field.resolve!);
  return built;
}
