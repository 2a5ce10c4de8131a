import {
  type BooleanValueNode,
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isCompositeType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  visit,
} from 'graphql';
import { fragmentsIn } from './complexity.ts';
import { tooComplex } from './refusal.ts';
import type { Variables } from './variables.ts';

/** Maximum depth. GraphiQL's introspection has 14 levels. */
const MAX_DEPTH = 30;
/** Fields of one selection with fragments expanded, which bounds the work of pricing and executing it. */
const MAX_FIELDS = 10_000;

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
  readonly root: GraphQLObjectType;
  readonly selection: Selection;
  /** Fields on all levels. */
  readonly fields: number;
}

/** The names of the variables used in `@skip` and `@include`. */
export function conditionVariables(
  document: DocumentNode,
  { variableDefinitions }: OperationDefinitionNode,
): readonly string[] {
  if (variableDefinitions!.length === 0) return [];
  const used = new Set<string>();
  visit(document, {
    Directive({ arguments: given }: DirectiveNode) {
      for (const { value } of given!) if (value.kind === Kind.VARIABLE) used.add(value.name.value);
    },
  });
  return variableDefinitions!.map(({ variable }) => variable.name.value).filter((name) => used.has(name));
}

/**
 * Collects the fields of an operation as execution does (GraphQL specification, section 6.3.2).
 *
 * @param document validated against the schema
 * @param variables coerced, with defaults; only those of `conditionVariables` matter
 * @throws QUERY_TOO_COMPLEX if the operation is too deep or too large
 */
export function select(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
  variables: Variables,
): SelectedOperation {
  const root = schema.getRootType(operation)!;
  const collector = new Collector(schema, document, variables);
  const selection = collector.collect(root, [selectionSet], 1);
  return { root, selection, fields: collector.fields };
}

/** Collects the fields of an operation as if it had no directives. */
export const selectEverything = (
  schema: GraphQLSchema,
  document: DocumentNode,
  { operation, selectionSet }: OperationDefinitionNode,
): Selection =>
  new Collector(schema, document, null).collect(schema.getRootType(operation)!, [selectionSet], 1);

class Collector {
  fields = 0;
  readonly #schema: GraphQLSchema;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Variables | null;

  /** @param variables null to ignore directives */
  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables | null) {
    this.#schema = schema;
    this.#variables = variables;
    this.#fragments = fragmentsIn(document);
  }

  collect(parent: GraphQLObjectType, sets: readonly SelectionSetNode[], depth: number): Selection {
    const selection: SelectedField[] = [];
    for (const [key, nodes] of this.#group(parent, sets)) {
      if (++this.fields > MAX_FIELDS) throw tooComplex(`selects more than ${MAX_FIELDS} fields`);
      if (depth > MAX_DEPTH) throw tooComplex(`is nested more than ${MAX_DEPTH} levels deep`);
      const name = nodes[0].name.value;
      const definition = META_FIELDS.get(name) ?? parent.getFields()[name];
      // Below conflicting fields, which are reported later, there can be fields of another type.
      if (!definition) continue;
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
  ): Map<string, [FieldNode, ...FieldNode[]]> {
    const groups = new Map<string, [FieldNode, ...FieldNode[]]>();
    const visited = new Set<string>();
    const visitSet = (set: SelectionSetNode): void => {
      for (const selection of set.selections) {
        if (!this.#isIncluded(selection)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const group = groups.get(key);
          if (group) group.push(selection);
          else groups.set(key, [selection]);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          if (this.#applies(type, selection.typeCondition?.name.value)) visitSet(selection.selectionSet);
        } else if (!visited.has(selection.name.value)) {
          visited.add(selection.name.value);
          const fragment = this.#fragments.get(selection.name.value);
          if (fragment && this.#applies(type, fragment.typeCondition.name.value))
            visitSet(fragment.selectionSet);
        }
      }
    };
    sets.forEach(visitSet);
    return groups;
  }

  #isIncluded({ directives }: SelectionNode): boolean {
    if (this.#variables === null) return true;
    // Executable documents have only `@skip` and `@include`, both with the single argument `if`.
    for (const { name, arguments: given } of directives!) {
      const { value: condition } = given![0]!;
      const value =
        condition.kind === Kind.VARIABLE
          ? this.#variables[condition.name.value]
          : (condition as BooleanValueNode).value;
      if (value === (name.value === 'skip')) return false;
    }
    return true;
  }

  #applies(type: GraphQLObjectType, condition: string | undefined): boolean {
    if (condition === undefined || condition === type.name) return true;
    const abstract = this.#schema.getType(condition);
    return isAbstractType(abstract) && this.#schema.isSubType(abstract, type);
  }
}

/** Meta fields, which no type declares. Validation has refused them where they do not belong. */
const META_FIELDS: ReadonlyMap<string, GraphQLField<unknown, unknown>> = new Map(
  [TypeNameMetaFieldDef, SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);

const NO_SUBSELECTIONS: SelectedField['subselections'] = new Map();
