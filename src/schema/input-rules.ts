import { type GraphQLInputType, getNamedType } from 'graphql';
import type { z } from 'zod';

/** Inputs that have satisfied their rules, as the rules have transformed them. */
const parsed = new WeakSet<object>();

/** Marks an input as the result of its rules, so that it is not parsed again when it reaches its resolver. */
export function asParsed<T extends object>(input: T): T {
  parsed.add(input);
  return input;
}

/** Options of an input type whose values must satisfy these rules. */
export function checkedBy<T extends z.ZodObject>(rules: T) {
  const { validate, ...standard } = rules['~standard'];
  const once: typeof validate = (value, ...options) =>
    parsed.has(value as object) ? { value: value as z.output<T> } : validate(value, ...options);
  return { validate: { '~standard': { ...standard, validate: once } }, extensions: { rules } };
}

/** The rules of an input type; undefined if it has none. */
export const inputRulesOf = (type: GraphQLInputType): z.ZodObject | undefined =>
  getNamedType(type).extensions.rules as z.ZodObject | undefined;
