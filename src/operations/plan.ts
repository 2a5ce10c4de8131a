import type { DocumentNode, GraphQLSchema } from 'graphql';
import { memoized } from '../foundation/cache.ts';
import type { WriteJson } from '../kit/json-writer.ts';
import type { Operation } from './documents.ts';
import { flatDocument } from './flat-document.ts';
import { partsOf } from './mutation.ts';
import type { Price } from './price.ts';
import { type SelectedOperation, type Selection, select } from './selection.ts';
import type { Variables } from './variables.ts';

/** Plans that are kept with each operation, for the conditions that it was used with. */
const MAX_PLANS = 4;
/** Fields of a plan that is kept. */
const MAX_FIELDS = 500;

/** An operation with its @skip and @include directives resolved, and what is derived from it on use. */
export interface Plan {
  readonly operation: Operation;
  readonly selected: SelectedOperation;
  /** The names of its root fields, without meta fields. */
  readonly rootFields: readonly string[];
  /** The selections to execute one after the other: several for a mutation with several writing fields. */
  readonly parts: readonly Selection[];
  /** A document for each part, without fragments and directives. */
  readonly documents: readonly DocumentNode[];
  /** How often it ran. */
  uses: number;
  /** Set if it does not depend on variables. */
  price?: Price;
  /** Whether compiled code ran. */
  isCompiled?: boolean;
  /** Writes its results as JSON. Set when one is written that compiled code made. */
  write?: WriteJson;
}

const plansOf = memoized((_: Operation): Plan[] => []);

/**
 * @param variables coerced
 * @throws QUERY_TOO_COMPLEX if the operation is too deep or too large
 */
export function planOf(schema: GraphQLSchema, operation: Operation, variables: Variables): Plan {
  const { node } = operation;
  const plans = plansOf(operation);
  const known = plans.find(({ selected: { conditions } }) => isDecided(conditions, variables));
  if (known) return known;
  const selected = select(schema, operation, variables);
  const { selection } = selected;
  const parts = node.operation === 'mutation' ? partsOf(selection) : [selection];
  const names = selection.map(({ definition }) => definition.name).filter((name) => !name.startsWith('__'));
  const documents = parts.map((part) => flatDocument(node, part));
  const plan: Plan = { operation, selected, rootFields: [...new Set(names)], parts, documents, uses: 0 };
  if (selected.fields <= MAX_FIELDS && plans.length < MAX_PLANS) plans.push(plan);
  return plan;
}

function isDecided(conditions: ReadonlyMap<string, boolean>, variables: Variables): boolean {
  for (const [name, value] of conditions) if ((variables[name] === true) !== value) return false;
  return true;
}
