import { type GraphQLInputType, getNamedType } from 'graphql';
import type { z } from 'zod';
import { type Issue, unknownNames, validationFailed } from '../foundation/errors.ts';
import { issuesOf } from '../foundation/validation.ts';

/** What inputs were parsed to before their operation runs. */
const parsed = new WeakSet<object>();

/**
 * Parses an input by its rules.
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
  const { data, error } = rules.safeParse(input);
  for (const issue of error?.issues ?? []) {
    if (issue.code === 'unrecognized_keys')
      into.push(...unknownNames(issue.keys, 'field', Object.keys(rules.shape)));
    else if (issue.path.length === 0 && path) into.push({ path, message: issue.message });
    else into.push(...issuesOf([issue]));
  }
  return error ? undefined : rememberParsed(data);
}

/** Whether this is what an input was parsed to. */
export const isParsed = (value: object): boolean => parsed.has(value);

/** Marks what an input was parsed to. */
export function rememberParsed<T extends object>(data: T): T {
  parsed.add(data);
  return data;
}

/** What the rules make of an input, unless it is that already. @throws VALIDATION_FAILED if it breaks one */
export function parsedInput(rules: z.ZodObject, input: object): object {
  if (isParsed(input)) return input;
  const issues: Issue[] = [];
  const data = parseInput(rules, input, issues);
  if (!data) throw validationFailed(issues);
  return data;
}

/**
 * The rules that an input type declares in its extensions. They are checked before anything runs, and resolvers are
 * given what they make of a value.
 */
export const inputRulesOf = (type: GraphQLInputType): z.ZodObject | undefined =>
  getNamedType(type).extensions.rules as z.ZodObject | undefined;
