import { type GraphQLField, type GraphQLInputType, getNamedType } from 'graphql';
import type { z } from 'zod';
import { type Issue, validationFailed } from '../foundation/errors.ts';
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

/** Options of an input type with rules. */
export const checkedBy = (rules: z.ZodObject) => ({ extensions: { rules } });

/** The rules of an input type, checked before anything runs; undefined if it has none. */
export const inputRulesOf = (type: GraphQLInputType): z.ZodObject | undefined =>
  getNamedType(type).extensions.rules as z.ZodObject | undefined;

/** Makes a resolver get its inputs as parsed by their rules. Only those in literals aren't yet. */
export function parseInputs<C>(field: GraphQLField<unknown, C>): void {
  for (const { name, type } of field.args) {
    const rules = inputRulesOf(type);
    const { resolve } = field;
    if (!rules || !resolve) continue;
    field.resolve = (source, args, context, info) => {
      const { [name]: input } = args;
      if (input == null || isParsed(input)) return resolve(source, args, context, info);
      const issues: Issue[] = [];
      const read = parseInput(rules, input, issues, name);
      if (issues.length > 0) throw validationFailed(issues);
      return resolve(source, { ...args, [name]: read }, context, info);
    };
  }
}
