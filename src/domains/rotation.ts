import { defaulting, integer } from '../foundation/fields.ts';
import { newRules } from '../foundation/record-input.ts';
import { graphqlDialect, type InputDialect, issuesOf, restDialect } from '../foundation/validation.ts';
import type { Body } from '../rest-routes/route.ts';
import { declaredShape } from '../rest-routes/shape.ts';
import { withRule } from '../schema/arguments.ts';
import type { Builder } from '../schema/builder.ts';

/** How long the old secret keeps working after a rotation, in seconds. */
export const GRACE = { default: 86_400, max: 604_800 };

const graceField = (use: string) =>
  integer(0, GRACE.max, `How many seconds the old secret ${use} too`, GRACE.default);

const rulesOf = (dialect: InputDialect) =>
  newRules({ grace: defaulting(GRACE.default, graceField('works')) }, dialect, false);

/**
 * The body of an operation that replaces a secret.
 *
 * @param name the name of the OpenAPI schema
 * @param use the verb for the secret: `works`, `signs`
 */
export const rotationBody = (name: string, use: string): Body => ({
  name,
  rules: rulesOf(restDialect),
  description: 'How to rotate.',
  fields: declaredShape({ type: name, description: '', fields: { grace: graceField(use) } }).fields,
  example: { grace: GRACE.default },
});

/** The GraphQL argument for {@link GRACE}. */
export const graceArgument = (builder: Builder) =>
  builder.args((t) => ({
    grace: t.int({
      description: `Seconds, 0 to ${GRACE.max}; defaults to ${GRACE.default}.`,
      extensions: withRule((args: { grace?: number | null }) =>
        issuesOf(rulesOf(graphqlDialect).safeParse({ grace: args.grace }).error?.issues ?? []),
      ),
    }),
  }));
