import {
  type BooleanValueNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';
import { validationFailed } from '../foundation/errors.ts';
import type { Operation } from './documents.ts';
import { tooComplex } from './result.ts';
import type { Variables } from './variables.ts';

/** The maximum depth. GraphiQL's introspection has 14 levels. */
const MAX_DEPTH = 30;
/**
 * The maximum number of selected fields with fragments expanded, counting repetitions, which bounds the work to price
 * and execute an operation.
 */
const MAX_FIELDS = 10_000;
/** The maximum length of a response key, which every object repeats. */
const MAX_KEY_LENGTH = 100;

/** A field to resolve: everything selected under a response key of an object. */
export interface SelectedField {
  readonly key: string;
  /** The object type that the field belongs to. */
  readonly parent: GraphQLObjectType;
  readonly definition: GraphQLField<unknown, unknown>;
  /** The nodes that select it, with the same arguments. */
  readonly nodes: readonly [FieldNode, ...FieldNode[]];
  /** The subselections for each possible type; empty for a leaf. */
  readonly subselections: ReadonlyMap<GraphQLObjectType, Selection>;
}

/** The fields of an object in response order, with fragments expanded, equal keys merged and directives applied. */
export type Selection = readonly SelectedField[];

/**
 * Collects the fields of an operation as execution does (GraphQL specification, section 6.3.2).
 *
 * @param operation a valid operation
 * @param variables coerced variables, with defaults; only those of `@skip` and `@include` matter
 * @returns the selection, and the number of fields on all levels and of their nodes
 * @throws QUERY_TOO_COMPLEX if the operation is too deep or too large, VALIDATION_FAILED if a variable of a directive
 * is null
 */
export function select(
  schema: GraphQLSchema,
  { document, node: { operation, selectionSet } }: Operation,
  variables: Variables,
): { selection: Selection; fields: number; nodes: number } {
  const fragments = new Map(
    document.ast.definitions.flatMap((node) =>
      node.kind === Kind.FRAGMENT_DEFINITION ? [[node.name.value, node] as const] : [],
    ),
  );
  let fields = 0;
  let count = 0;

  function collect(parent: GraphQLObjectType, sets: readonly SelectionSetNode[], depth: number): Selection {
    const selection: SelectedField[] = [];
    for (const [key, nodes] of group(parent, sets)) {
      fields++;
      count += nodes.length;
      if (count > MAX_FIELDS) throw tooComplex(`selects more than ${MAX_FIELDS} fields`);
      if (depth > MAX_DEPTH) throw tooComplex(`is nested more than ${MAX_DEPTH} levels deep`);
      if (key.length > MAX_KEY_LENGTH)
        throw tooComplex(`has a response key of more than ${MAX_KEY_LENGTH} characters`);
      const name = nodes[0].name.value;
      const definition = META_FIELDS.get(name) ?? parent.getFields()[name]!;
      const type = getNamedType(definition.type);
      const own = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
      const types = isAbstractType(type) ? schema.getPossibleTypes(type) : isObjectType(type) ? [type] : [];
      const subselections = new Map(types.map((type) => [type, collect(type, own, depth + 1)]));
      selection.push({ key, parent, definition, nodes, subselections });
    }
    return selection;
  }

  function group(type: GraphQLObjectType, sets: readonly SelectionSetNode[]) {
    const groups = new Map<string, [FieldNode, ...FieldNode[]]>();
    const visited = new Set<string>();
    const visitSet = ({ selections }: SelectionSetNode): void => {
      for (const selection of selections) {
        if (selection.kind === Kind.FRAGMENT_SPREAD && visited.has(selection.name.value)) continue;
        if (!isIncluded(selection)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const group = groups.get(key);
          if (group) group.push(selection);
          else groups.set(key, [selection]);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          if (applies(type, selection.typeCondition)) visitSet(selection.selectionSet);
        } else {
          visited.add(selection.name.value);
          const fragment = fragments.get(selection.name.value)!;
          if (applies(type, fragment.typeCondition)) visitSet(fragment.selectionSet);
        }
      }
    };
    sets.forEach(visitSet);
    return groups;
  }

  /** Reads `@include` only if `@skip` doesn't exclude the field, like graphql-js. */
  const isIncluded = (selection: SelectionNode): boolean =>
    conditionOf('skip', selection) !== true && conditionOf('include', selection) !== false;

  /** The value of a directive's only argument, `if`. Executable documents have only these two directives. */
  function conditionOf(directive: 'skip' | 'include', { directives }: SelectionNode): boolean | undefined {
    const node = directives!.find(({ name }) => name.value === directive)?.arguments![0]!.value;
    if (node?.kind !== Kind.VARIABLE) return (node as BooleanValueNode | undefined)?.value;
    const { value: name } = node.name;
    // Validation permits nullable variables with a default.
    if (variables[name] == null)
      throw validationFailed([{ path: name, message: `must not be null: @${directive} needs a Boolean` }]);
    return variables[name] as boolean;
  }

  function applies(type: GraphQLObjectType, condition: NamedTypeNode | undefined): boolean {
    if (condition === undefined) return true;
    const named = schema.getType(condition.name.value)!;
    return named === type || (isAbstractType(named) && schema.isSubType(named, type));
  }

  return { selection: collect(schema.getRootType(operation)!, [selectionSet], 1), fields, nodes: count };
}

/** Meta fields, which no type declares. */
const META_FIELDS: ReadonlyMap<string, GraphQLField<unknown, unknown>> = new Map(
  [TypeNameMetaFieldDef, SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);
