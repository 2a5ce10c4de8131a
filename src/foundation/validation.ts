import { z } from 'zod';
import { type Issue, unknownNames } from './errors.ts';
import { ID_RULE, type Id, parseId } from './id.ts';

/**
 * The differences between the input rules of REST and GraphQL. Domains write their rules once, as functions of the
 * dialect.
 */
export interface InputDialect {
  id: z.ZodType<Id>;
  /** An int64 as digits: a JSON integer in REST, a string or an integer in GraphQL. @param parse returns null if it breaks the rule */
  int64(rule: string, parse: (value: unknown) => string | null): z.ZodType<string>;
  /** An optional field. GraphQL treats `null` as absent, REST refuses it. */
  optional<T extends z.ZodType>(rule: T): z.ZodType<z.output<T> | undefined>;
}

/** The message for a value that is missing or breaks a rule. */
export const required = (rule: string) => (issue: { input: unknown }) =>
  issue.input === undefined ? 'is required' : rule;

/** A rule that parses a value and fails if the parser returns null. */
const parsed = <T>(rule: string, parse: (value: unknown) => T | null) =>
  z.unknown().transform((value, context): T => {
    const result = parse(value);
    if (result === null) context.addIssue(required(rule)({ input: value }));
    return result ?? z.NEVER;
  });

/** A rule that parses a text; see {@link parsed}. */
export const parsedText = <T>(rule: string, parse: (text: string) => T | null) =>
  parsed(rule, (value) => (typeof value === 'string' ? parse(value) : null));

const restInt64: InputDialect['int64'] = (rule, parse) =>
  parsed(rule, (value) => (typeof value === 'string' ? null : parse(value)));

export const restDialect: InputDialect = {
  id: restInt64(ID_RULE, parseId),
  int64: restInt64,
  optional: (rule) => rule.optional() as never,
};

export const graphqlDialect: InputDialect = {
  id: parsed(ID_RULE, parseId),
  int64: parsed,
  optional: (rule) => rule.nullish().transform((value) => value ?? undefined) as never,
};

export const string = () => z.string({ error: required('must be a string') });

/** Text of `min` to `max` code points, all valid and none a control character, which could break a terminal, log or CSV. */
export const text = (min: number, max: number, of = string()) => {
  const length = new RegExp(`^.{${min},${max}}$`, 'su');
  return of
    .refine(
      (value) => length.test(value),
      min > 0 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`,
    )
    .refine((value) => !/\p{Cc}/u.test(value), 'must not contain control characters')
    .refine((value) => !/\p{Cs}/u.test(value), 'must not contain unpaired surrogates');
};

/** The longest name, in characters. */
export const MAX_NAME_LENGTH = 200;

/** The name of a record. Stored trimmed. */
export const name = () => text(1, MAX_NAME_LENGTH, string().trim());

/** A list of at least one value, without duplicates. */
export const list = <T>(of: z.ZodType<T>, maxItems = Number.POSITIVE_INFINITY) =>
  z
    .array(of, { error: required('must be a list') })
    .min(1, 'must have at least one value')
    .max(maxItems, `must have at most ${maxItems} values`)
    .refine((values) => new Set(values).size === values.length, 'must not have a value twice');

/** One value of an enumeration. */
export const oneOf = <const T extends readonly string[]>(values: T) =>
  z.enum(values, { error: required(`must be one of ${values.join(', ')}`) });

/** An input object that refuses unknown fields. */
export const inputObject = <T extends z.ZodRawShape>(shape: T) =>
  z.strictObject(shape, { error: () => 'must be an object' });

/**
 * Converts the issues of zod, one per field.
 *
 * @param allowed the fields that the input may have, for messages
 * @param whole the path of an issue with the input as a whole
 */
export const issuesOf = (
  issues: readonly z.core.$ZodIssue[],
  allowed?: readonly string[],
  whole = 'body',
): Issue[] =>
  issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? unknownNames(issue.keys, 'field', allowed)
      : [{ path: issue.path.join('.') || whole, message: issue.message }],
  );
