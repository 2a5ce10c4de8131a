import { type GraphQLInputType, getNamedType } from 'graphql';
import type { z } from 'zod';

/** Options of an input type whose values must satisfy these rules. */
export const checkedBy = <T extends z.ZodObject>(rules: T) => ({ validate: rules, extensions: { rules } });

/** The rules of an input type; undefined if it has none. */
export const inputRulesOf = (type: GraphQLInputType): z.ZodObject | undefined =>
  getNamedType(type).extensions.rules as z.ZodObject | undefined;
