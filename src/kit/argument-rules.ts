import type { GraphQLArgument } from 'graphql';
import type { Issue } from '../foundation/errors.ts';

/**
 * A rule for the arguments of a field that doesn't depend on data. It is declared in the extensions of one of
 * them, and holds before anything of the operation runs.
 */
export type ArgumentRule = (args: never) => Issue[];

/** The extensions of an argument with a rule. */
export const withRule = <Args>(rule: (args: Args) => Issue[]) => ({ rule: rule as ArgumentRule });

/** The rule that an argument declares. */
export const ruleOf = ({ extensions }: GraphQLArgument): ArgumentRule | undefined =>
  extensions.rule as ArgumentRule | undefined;
