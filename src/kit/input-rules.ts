import type { StandardSchemaV1 } from '@pothos/plugin-validation';
import { type GraphQLInputType, getNamedType } from 'graphql';
import type { z } from 'zod';
import { type Issue, unknownNames } from '../foundation/errors.ts';
import { issuesOf } from '../foundation/validation.ts';

/** What inputs were parsed to before their operation runs. */
const parsed = new WeakMap<object, object>();

/**
 * Parses an input by its rules. Inputs are parsed once: the validation plugin hands resolvers what came of it.
 *
 * @param into filled with the issues, if there are any
 * @param path of an issue with the input as a whole
 * @returns undefined if the input breaks a rule
 */
export function parseInput(
  rules: z.ZodObject,
  input: unknown,
  into: Issue[],
  path?: string,
): object | undefined {
  const { known, unknown } = withoutUnknown(rules, input);
  const { data, error } = rules.safeParse(known);
  for (const issue of error ? issuesOf(error.issues) : [])
    into.push(path && issue.path === 'body' ? { ...issue, path } : issue);
  into.push(...unknownNames(unknown, 'field', Object.keys(rules.shape)));
  return error || unknown.length > 0 ? undefined : rememberParsed(data);
}

/** Separates unknown fields, of which zod takes twice as long to list thousands as they took to read. */
function withoutUnknown(
  { shape }: z.ZodObject,
  input: unknown,
): { known: unknown; unknown: readonly string[] } {
  if (typeof input !== 'object' || input === null || Array.isArray(input))
    return { known: input, unknown: [] };
  const unknown: string[] = [];
  for (const name in input) if (!Object.hasOwn(shape, name)) unknown.push(name);
  if (unknown.length === 0) return { known: input, unknown };
  const known = Object.keys(shape).filter((name) => Object.hasOwn(input, name));
  return {
    known: Object.fromEntries(known.map((name) => [name, (input as Record<string, unknown>)[name]])),
    unknown,
  };
}

/** Whether this is what an input was parsed to. */
export const isParsed = (value: object): boolean => parsed.has(value);

/** Lets resolvers have a parsed input as it is. @param input it may also be given as */
export function rememberParsed(data: object, input = data): object {
  parsed.set(input, data);
  return data;
}

/** An option of an input type: resolvers are given what these rules make of it. */
export const parsedBy = (rules: z.ZodObject): { validate: StandardSchemaV1<object> } => ({
  validate: {
    '~standard': {
      ...(rules['~standard'] as StandardSchemaV1<object>['~standard']),
      validate(input) {
        const value = parsed.get(input as object);
        return value ? { value } : rules['~standard'].validate(input);
      },
    },
  },
});

/** Options of an input type whose values must satisfy these rules, which is checked before anything runs. */
export const checkedBy = (rules: z.ZodObject) => ({ ...parsedBy(rules), extensions: { rules } });

/** The rules of an input type that are checked before anything runs; undefined if it has none. */
export const inputRulesOf = (type: GraphQLInputType): z.ZodObject | undefined =>
  getNamedType(type).extensions.rules as z.ZodObject | undefined;
