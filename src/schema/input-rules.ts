import type { StandardSchemaV1 } from '@pothos/plugin-validation';
import { type GraphQLInputType, getNamedType } from 'graphql';
import type { z } from 'zod';
import type { Issue } from '../foundation/errors.ts';
import { issuesOf } from '../foundation/validation.ts';

/** Inputs that were parsed before their operation runs. */
const parsed = new WeakSet<object>();

/**
 * Parses an input by its rules.
 *
 * @param into collects the issues
 * @param path the path of an issue with the input as a whole
 * @returns undefined if the input breaks a rule
 */
export function parseInput(
  rules: z.ZodObject,
  input: unknown,
  into: Issue[],
  path?: string,
): object | undefined {
  const { data, error } = rules.safeParse(input);
  if (error) into.push(...issuesOf(error.issues, Object.keys(rules.shape), path));
  return error ? undefined : rememberParsed(data);
}

/** True if this is the parsed value of an input. */
export const isParsed = (value: object): boolean => parsed.has(value);

/** Marks the parsed value of an input. */
export function rememberParsed<T extends object>(data: T): T {
  parsed.add(data);
  return data;
}

/**
 * Options of an input type with rules, which are checked before anything runs. The validation plugin passes the parsed
 * value to resolvers, and parses it unless it already is.
 */
export const checkedBy = (rules: z.ZodObject) => ({
  extensions: { rules },
  validate: {
    '~standard': {
      ...(rules['~standard'] as StandardSchemaV1<object>['~standard']),
      validate: (input: unknown) =>
        isParsed(input as object) ? { value: input as object } : rules['~standard'].validate(input),
    },
  } as StandardSchemaV1<object>,
});

/** The rules of an input type, checked before anything runs; undefined if it has none. */
export const inputRulesOf = (type: GraphQLInputType): z.ZodObject | undefined =>
  getNamedType(type).extensions.rules as z.ZodObject | undefined;
