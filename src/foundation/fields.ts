import { grouped } from './words.ts';
import { z } from 'zod';
import { type Id, MAX_INT64, parseInt64 } from './id.ts';
import { formatInstant, parseDate, parseInstant } from './instant.ts';
import * as rules from './validation.ts';

/** A fragment of the OpenAPI 3.0.3 description. May contain bigints, since a double cannot hold the largest int64. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The kind of a stored value, which determines its column or property in each engine. */
export type FieldKind = 'id' | 'integer' | 'bigInteger' | 'boolean' | 'text' | 'instant' | 'date';

/** `required` in input and record; `defaulted` in input but always in the record; or `optional` in both. */
export type Presence = 'required' | 'defaulted' | 'optional';

/**
 * A field of a record, declared once: the source of its rules, GraphQL description and weight, REST and OpenAPI schema,
 * and database column or property.
 */
export interface Field<T = unknown, P extends Presence = Presence> {
  kind: FieldKind;
  presence: P;
  /** Without a full stop. */
  description: string;
  /** As JSON. */
  example: unknown;
  /** The schema of stored values. */
  schema: JsonSchema;
  /** The schema of accepted input, if that is wider. */
  inputSchema?: JsonSchema;
  /** The limits of input, for descriptions, such as `1 to 200 characters`. */
  limits?: string;
  /** Maximum length of a text in characters, which determines its weight. */
  maxLength?: number;
  /** True for the id of something other than a record: text for programs only. */
  opaque?: true;
  /** Maximum number of values, if the field is a list. */
  maxItems?: number;
  /** The smallest and largest value of an integer. */
  range?: readonly [number, number];
  choices?: Choices;
  default?: T;
  reference?: Reference;
  /**
   * The domain that shows and changes this field instead of the record's own. A write that changes nothing else is an
   * event of that domain.
   */
  view?: string;
  /** True if the value is shown only once, when it is created. */
  isSecret?: boolean;
  /** The former name, still used in older records, events and exports. */
  formerly?: string;
  /** The validation rule for input. */
  rule(dialect: rules.InputDialect): z.ZodType<T>;
}

/** A record's reference to another, its parent, which it keeps from being deleted. */
export interface Reference {
  /** The parent's declaration (`record.ts`). */
  parent: { kind: string; plural: string };
  /** The values of children that block it; `null` if none do. Other children keep the id of a deleted parent. */
  where?: Readonly<Record<string, unknown>> | null;
  /** The name of the blocking children in messages, such as `incomplete orders`; defaults to the record's plural. */
  name?: string;
  /** The name of the parent's list of children, such as `awayMatches`; defaults to the record's plural. */
  list?: string;
}

/** An enumeration: its name, values and descriptions in all interfaces. */
export interface Choices<T extends string = string> {
  name: string;
  description: string;
  values: readonly T[];
  /** A description for each value. */
  descriptions: Readonly<Record<T, string>>;
  /** The REST form of a value that cannot be a GraphQL name. */
  restValue?(value: T): string;
}

/** True if values are sorted and searched by their folded form (`folded.ts`), which is stored beside them. */
export const isFolded = ({ kind, choices }: Field): boolean => kind === 'text' && choices === undefined;

/** @param descriptions a description for each value */
export const choices = <T extends string>(
  name: string,
  description: string,
  descriptions: Readonly<Record<T, string>>,
): Choices<T> => ({ name, description, descriptions, values: Object.keys(descriptions) as T[] });

type Required<T> = Field<T, 'required'>;

export const INT64_SCHEMA: JsonSchema = { type: 'integer', format: 'int64', minimum: 1, maximum: MAX_INT64 };

const declared = (kind: FieldKind, description: string, example: unknown) =>
  ({ kind, presence: 'required', description, example }) as const;

/** The id of the record itself. */
export const ownId = (description: string): Required<Id> => ({
  ...declared('id', description, 1),
  schema: INT64_SCHEMA,
  rule: ({ id }) => id,
});

/** The id of another record, which must exist when the reference is written. */
export const reference = (
  parent: Reference['parent'],
  description: string,
  options: Omit<Reference, 'parent'> = {},
): Required<Id> => ({ ...ownId(description), reference: { parent, ...options } });

/** The characters that no text may contain, escaped in a way that every regular expression dialect understands. */
const CONTROL = '\\x00-\\x1f\\x7f-\\x9f';

/** Text of at most `maxLength` characters. */
export const text = (maxLength: number, description: string, example: string): Required<string> => ({
  ...declared('text', description, example),
  schema: { type: 'string', maxLength, pattern: `^[^${CONTROL}]*$` },
  limits: `at most ${grouped(maxLength)} characters`,
  maxLength,
  rule: () => rules.text(0, maxLength),
});

/**
 * The schemas of text that is stored trimmed, from the characters allowed at its edges and inside. The input schema has
 * no `maxLength`, since surrounding white space counts in a JSON string but not in the rule.
 */
const trimmed = (maxLength: number, [edge, inner]: string[], [inputEdge, inputInner] = [edge, inner]) => ({
  schema: { type: 'string', minLength: 1, maxLength, pattern: `^${edge}(${inner}*${edge})?$` },
  inputSchema: {
    type: 'string',
    minLength: 1,
    pattern: `^\\s*${inputEdge}(${inputInner}{0,${maxLength - 2}}${inputEdge})?\\s*$`,
  },
  maxLength,
});

/** A name of 1 to 200 characters that is stored trimmed. */
export const name = (description: string, example: string): Required<string> => ({
  ...declared('text', description, example),
  ...trimmed(rules.MAX_NAME_LENGTH, [`[^\\s${CONTROL}]`, `[^${CONTROL}]`]),
  limits: `1 to ${rules.MAX_NAME_LENGTH} characters`,
  rule: rules.name,
});

/**
 * A code such as a tracking number: 1 to `maxLength` printable ASCII characters, stored trimmed and in upper case, so
 * that case makes no difference.
 */
export const code = (maxLength: number, description: string, example: string): Required<string> => ({
  ...declared('text', description, example),
  ...trimmed(maxLength, ['[!-`{-~]', '[ -`{-~]'], ['[!-~]', '[ -~]']),
  limits: `1 to ${grouped(maxLength)} ASCII characters, stored in upper case`,
  rule: () => {
    const rule = `must have 1 to ${maxLength} printable ASCII characters`;
    return rules
      .string()
      .trim()
      .toUpperCase()
      .regex(new RegExp(`^[ -~]{1,${maxLength}}$`), rule);
  },
});

/** The id of something other than a record, such as an event. */
export const opaqueId = (maxLength: number, description: string, example: string): Required<string> => ({
  ...declared('text', description, example),
  schema: { type: 'string', minLength: 1, maxLength },
  // Event ids on MongoDB are shorter than the maximum they are allowed.
  maxLength: Math.min(maxLength, 500),
  opaque: true,
  rule: () => rules.parsedText('must be an id', (id) => (id !== '' && id.length <= maxLength ? id : null)),
});

/** A list of 1 to `maxItems` distinct values. */
export const list = <T>(
  of: Field<T>,
  maxItems: number,
  description: string,
  example: readonly T[],
): Required<T[]> => ({
  ...of,
  ...declared(of.kind, description, example),
  default: undefined as never,
  schema: { type: 'array', minItems: 1, maxItems, uniqueItems: true, items: of.schema },
  maxItems,
  rule: (dialect) => rules.list(of.rule(dialect), maxItems),
});

export const integer = (
  minimum: number,
  maximum: number,
  description: string,
  example: number,
): Required<number> => ({
  ...declared('integer', description, example),
  schema: { type: 'integer', format: 'int32', minimum, maximum },
  limits: `${minimum} to ${maximum}`,
  range: [minimum, maximum],
  rule: () => {
    const rule = `must be an integer from ${minimum} to ${maximum}`;
    return z
      .int({ error: rules.required(rule) })
      .min(minimum, rule)
      .max(maximum, rule);
  },
});

/**
 * An int64. Its values are strings of digits, as for ids: compare them as `BigInt(value)`. REST has JSON integers,
 * GraphQL strings of digits.
 */
export const bigInteger = (
  minimum: bigint,
  maximum: bigint,
  description: string,
  example: number,
): Required<string> => ({
  ...declared('bigInteger', description, example),
  schema: { type: 'integer', format: 'int64', minimum, maximum },
  limits: `${minimum} to ${maximum}`,
  rule: ({ int64 }) =>
    int64(`must be an integer from ${minimum} to ${maximum}`, (value) => parseInt64(value, minimum, maximum)),
});

export const boolean = (description: string, example: boolean): Required<boolean> => ({
  ...declared('boolean', description, example),
  schema: { type: 'boolean' },
  rule: () => z.boolean({ error: rules.required('must be true or false') }),
});

/** One value of an enumeration. */
export const choice = <T extends string>(
  of: Choices<T>,
  description: string,
  example: NoInfer<T>,
): Required<T> => ({
  ...declared('text', description, example),
  schema: { $ref: `#/components/schemas/${of.name}` },
  choices: of,
  rule: () => rules.oneOf(of.values) as unknown as z.ZodType<T>,
});

/** The rule for instants, as used in messages. */
export const INSTANT_RULE = 'must be an RFC 3339 date-time such as 2026-01-31T09:30:00Z';

/** An instant, as an RFC 3339 date-time. Stored to the millisecond and normalised to UTC. */
export const instant = (description: string, example: string): Required<string> => ({
  ...declared('instant', description, example),
  schema: { type: 'string', format: 'date-time' },
  rule: () => rules.parsedText(INSTANT_RULE, parseInstant).transform(formatInstant),
});

/** The rule for dates, as used in messages. */
export const DATE_RULE = 'must be a date such as 2026-11-22';

/** A calendar day without a time zone, as an RFC 3339 full-date. */
export const date = (description: string, example: string): Required<string> => ({
  ...declared('date', description, example),
  schema: { type: 'string', format: 'date' },
  rule: () => rules.parsedText(DATE_RULE, parseDate),
});

/** A field computed from the others whenever a record is shown, and never stored. */
export interface Computed<T = unknown, P extends Presence = Presence> extends Field<T, P> {
  /** @returns undefined if the field is optional and has no value */
  compute(record: never): T | undefined;
}

/**
 * Declares a computed field.
 *
 * @param field the declaration of the field
 * @param compute returns the value for a record. If it breaks the field's rule, showing the record fails
 */
export type Compute<R> = <T, P extends Presence>(
  field: Field<T, P>,
  compute: (record: R) => NoInfer<T> | undefined,
) => Computed<T, P> & { compute: (record: R) => T | undefined };

export const computed: Compute<never> = (field, compute) => {
  const rule = field.rule(rules.graphqlDialect);
  return {
    ...field,
    compute(record) {
      const value = compute(record);
      if (value === undefined && field.presence === 'optional') return undefined;
      const { data, error } = rule.safeParse(value);
      if (error)
        throw new Error(
          `${field.description}: ${String(value)} was computed, which ${error.issues[0]!.message}.`,
        );
      return data;
    },
  };
};

/** Makes a field optional. */
export const optional = <T>(field: Field<T>): Field<T, 'optional'> => ({ ...field, presence: 'optional' });

/** Gives a field a default. */
export const defaulting = <T>(value: NoInfer<T>, field: Field<T>): Field<T, 'defaulted'> => ({
  ...field,
  presence: 'defaulted',
  default: value,
});

/** Renames a field that was formerly called `name`. */
export const formerly = <F extends Field>(name: string, field: F): F => ({ ...field, formerly: name });

/** Leaves a field to another domain, the view, to show and change. */
export const viewedBy = <F extends Field>(view: string, field: F): F => ({ ...field, view });
