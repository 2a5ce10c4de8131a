import {
  type DocumentNode,
  type FieldNode,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { memoized } from '../foundation/cache.ts';
import { listOf, objectOf, type Property, type WriteJson, writeAny } from '../kit/json-writer.ts';
import type { Operation } from './documents.ts';
import { asQuery, partsOf } from './mutation.ts';
import type { Price } from './price.ts';
import { type SelectedField, type SelectedOperation, type Selection, select } from './selection.ts';
import { coercedDefinitions, type Variables } from './variables.ts';

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

/**
 * Writes part of an operation, or all of it, without fragments and directives, for coerced variables. graphql-jit misbehaves if a field
 * is selected in several places, or if selections with one response key are skipped independently.
 */
function flatDocument(node: OperationDefinitionNode, selection: Selection): DocumentNode {
  const { directives: _decided, ...operation } = asQuery(node);
  const variableDefinitions = coercedDefinitions(node);
  return {
    kind: Kind.DOCUMENT,
    definitions: [{ ...operation, variableDefinitions, selectionSet: selectionSet(selection) }],
  };
}

const selectionSet = (selection: Selection): SelectionSetNode => ({
  kind: Kind.SELECTION_SET,
  selections: selection.flatMap(fieldNodes),
});

/** The first node carries the merged selection. The others are kept for the locations of errors. */
function fieldNodes({ definition, nodes, subselections }: SelectedField): FieldNode[] {
  const [first, ...others] = nodes.map(({ directives: _decided, selectionSet: _merged, ...node }) => node);
  if (subselections.size === 0) return [first!, ...others];
  const named = getNamedType(definition.type);
  const selections = isObjectType(named)
    ? selectionSet(subselections.get(named)!)
    : {
        kind: Kind.SELECTION_SET as const,
        selections: [...subselections].map(([type, selection]) => ({
          kind: Kind.INLINE_FRAGMENT as const,
          typeCondition: {
            kind: Kind.NAMED_TYPE as const,
            name: { kind: Kind.NAME as const, value: type.name },
          },
          selectionSet: selectionSet(selection),
        })),
      };
  return [{ ...first!, selectionSet: selections }, ...others];
}

/** Creates a writer of the JSON of results without errors: `{ data }`. */
export const resultWriter = (selection: Selection): WriteJson =>
  objectOf([{ name: 'data', write: objectOf(selection.map(property)) }]);

const property = ({ key, definition, subselections }: SelectedField): Property => ({
  name: key,
  write: writerOf(definition.type, subselections),
});

function writerOf(type: GraphQLOutputType, subselections: SelectedField['subselections']): WriteJson {
  if (isNonNullType(type)) return writerOf(type.ofType, subselections);
  if (isListType(type)) return listOf(writerOf(type.ofType, subselections));
  // Which type an object of an interface has cannot be seen from what was selected of it.
  return isObjectType(type) ? objectOf(subselections.get(type)!.map(property)) : writeAny;
}
