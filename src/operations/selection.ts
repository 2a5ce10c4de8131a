import {
  type BooleanValueNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';
import type { Operation } from './documents.ts';
import { OperationRefused, publicError, tooComplex } from './result.ts';
import type { Variables } from './variables.ts';

/** Maximum depth. GraphiQL's introspection has 14 levels. */
const MAX_DEPTH = 30;
/** Fields of one selection with fragments expanded, which bounds the work of pricing and executing it. */
const MAX_FIELDS = 10_000;
/** Length of a response key, which is repeated for every row. */
const MAX_KEY_LENGTH = 100;

/** A field to resolve: everything selected under one response key of an object. */
export interface SelectedField {
  readonly key: string;
  /** The object type that the field belongs to. */
  readonly parent: GraphQLObjectType;
  readonly definition: GraphQLField<unknown, unknown>;
  /** Where it is selected. All nodes have the same arguments. */
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  /** The subselections for each possible type; empty for a leaf. */
  readonly subselections: ReadonlyMap<GraphQLObjectType, Selection>;
}

/** The fields of an object in response order: fragments expanded, equal keys merged, directives applied. */
export type Selection = readonly SelectedField[];

/** A whole operation as execution sees it. */
export interface SelectedOperation {
  readonly selection: Selection;
  /** Fields on all levels. */
  readonly fields: number;
}

/**
 * Collects the fields of an operation as execution does (GraphQL specification, section 6.3.2).
 *
 * @param operation valid
 * @param variables coerced, with defaults; only those of `@skip` and `@include` matter
 * @throws QUERY_TOO_COMPLEX if the operation is too deep or too large, OperationRefused for a subscription whose
 * root field is under a condition
 */
export function select(
  schema: GraphQLSchema,
  { document, node: { operation, selectionSet } }: Operation,
  variables: Variables,
): SelectedOperation {
  const fragments = new Map(
    document.ast.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );
  const collector = new Collector(schema, fragments, variables, operation === 'subscription');
  const selection = collector.collect(schema.getRootType(operation)!, [selectionSet], 1);
  return { selection, fields: collector.fields };
}

class Collector {
  fields = 0;
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables;
  readonly #isSubscription: boolean;

  constructor(
    schema: GraphQLSchema,
    fragments: ReadonlyMap<string, FragmentDefinitionNode>,
    variables: Variables,
    isSubscription: boolean,
  ) {
    this.#schema = schema;
    this.#fragments = fragments;
    this.#variables = variables;
    this.#isSubscription = isSubscription;
  }

  collect(parent: GraphQLObjectType, sets: readonly SelectionSetNode[], depth: number): Selection {
    const selection: SelectedField[] = [];
    for (const [key, nodes] of this.#group(parent, sets, depth)) {
      if (++this.fields > MAX_FIELDS) throw tooComplex(`selects more than ${MAX_FIELDS} fields`);
      if (depth > MAX_DEPTH) throw tooComplex(`is nested more than ${MAX_DEPTH} levels deep`);
      if (key.length > MAX_KEY_LENGTH)
        throw tooComplex(`has a response key of more than ${MAX_KEY_LENGTH} characters`);
      const name = nodes[0].name.value;
      const definition = META_FIELDS.get(name) ?? parent.getFields()[name]!;
      const subselections = this.#subselections(definition, nodes, depth + 1);
      selection.push({ key, parent, definition, nodes, subselections });
    }
    return selection;
  }

  #subselections(
    { type }: GraphQLField<unknown, unknown>,
    nodes: readonly FieldNode[],
    depth: number,
  ): SelectedField['subselections'] {
    const named = getNamedType(type);
    if (!isCompositeType(named)) return NO_SUBSELECTIONS;
    const sets = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    const types = isObjectType(named) ? [named] : this.#schema.getPossibleTypes(named);
    return new Map(types.map((type) => [type, this.collect(type, sets, depth)]));
  }

  #group(
    type: GraphQLObjectType,
    sets: readonly SelectionSetNode[],
    depth: number,
  ): Map<string, [FieldNode, ...FieldNode[]]> {
    const groups = new Map<string, [FieldNode, ...FieldNode[]]>();
    const visited = new Set<string>();
    const visitSet = ({ selections }: SelectionSetNode): void => {
      for (const selection of selections) {
        if (selection.directives!.length > 0 && !this.#isIncluded(selection, depth)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const group = groups.get(key);
          if (group) group.push(selection);
          else groups.set(key, [selection]);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          if (this.#applies(type, selection.typeCondition?.name.value)) visitSet(selection.selectionSet);
        } else if (!visited.has(selection.name.value)) {
          visited.add(selection.name.value);
          const fragment = this.#fragments.get(selection.name.value)!;
          if (this.#applies(type, fragment.typeCondition.name.value)) visitSet(fragment.selectionSet);
        }
      }
    };
    sets.forEach(visitSet);
    return groups;
  }

  /** Executable documents have only `@skip` and `@include`, both with the single argument `if`. */
  #isIncluded({ directives }: SelectionNode, depth: number): boolean {
    let isIncluded = true;
    for (const { name, arguments: given } of directives!) {
      // GraphQL specification, section 5.2.4.1; graphql-js 16 lacks this part of its rule.
      if (depth === 1 && this.#isSubscription) {
        const message = 'The root field of a subscription must not have @skip or @include.';
        throw new OperationRefused([
          publicError(new GraphQLError(message, { nodes: directives! }), 'GRAPHQL_VALIDATION_FAILED'),
        ]);
      }
      const { value: condition } = given![0]!;
      const value =
        condition.kind === Kind.VARIABLE
          ? this.#variables[condition.name.value] === true
          : (condition as BooleanValueNode).value;
      if (value === (name.value === 'skip')) isIncluded = false;
    }
    return isIncluded;
  }

  #applies(type: GraphQLObjectType, condition: string | undefined): boolean {
    if (condition === undefined) return true;
    const named = this.#schema.getType(condition)!;
    return named === type || (isAbstractType(named) && this.#schema.isSubType(named, type));
  }
}

/** Meta fields, which no type declares. */
const META_FIELDS: ReadonlyMap<string, GraphQLField<unknown, unknown>> = new Map(
  [TypeNameMetaFieldDef, SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);

const NO_SUBSELECTIONS: SelectedField['subselections'] = new Map();
