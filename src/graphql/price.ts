import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isAbstractType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
} from 'graphql';
import { AppError } from '../errors.ts';
import { DEFAULT_PAGE_SIZE } from './connection.ts';

/** An operation above this many units is refused (contract section 5). */
export const LARGEST_PRICE = 50;
/** List entries for one unit. */
const ENTRIES_PER_UNIT = 100;
/** Levels of fields; the deepest introspection of GraphiQL has 14. */
const DEEPEST = 30;
/** Fields looked at in one operation, fragments expanded: bounds the work of pricing and of executing. */
const MOST_FIELDS = 10_000;

/** Fields of the root that cost something other than by their lists. */
const ROOT_PRICES: Record<string, number> = { __typename: 0, rateLimit: 0, __schema: 1, __type: 1 };

export interface Price {
  units: number;
  /** Fields of the root that write. */
  mutations: number;
  /** Whether another set of variables could give another price. */
  dependsOnVariables: boolean;
}

type Variables = Readonly<Record<string, unknown>>;

/**
 * The price of an operation in units of contract section 5: for each field of the root `max(1, ceil(n / 100))`, n being the
 * most list entries it can return. Fields are collected as execution collects them: fragments expanded, equal response keys
 * merged, `@skip` and `@include` applied.
 *
 * @param document validated against the schema
 * @param variables coerced, defaults applied
 * @throws QUERY_TOO_COMPLEX for what is too deep or too large to look at, and above LARGEST_PRICE units
 */
export function priceOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): Price {
  const pricing = new Pricing(schema, document, variables);
  const units = pricing.operation(operation);
  return { units, mutations: pricing.mutations, dependsOnVariables: pricing.dependsOnVariables };
}

class Pricing {
  dependsOnVariables = false;
  mutations = 0;
  readonly #schema: GraphQLSchema;
  readonly #fragments = new Map<string, FragmentDefinitionNode>();
  readonly #variables: Variables;
  #fields = 0;

  constructor(schema: GraphQLSchema, document: DocumentNode, variables: Variables) {
    this.#schema = schema;
    this.#variables = variables;
    for (const definition of document.definitions) {
      if (definition.kind === Kind.FRAGMENT_DEFINITION)
        this.#fragments.set(definition.name.value, definition);
    }
  }

  operation(operation: OperationDefinitionNode): number {
    const root = this.#schema.getRootType(operation.operation);
    if (!root) return 1;
    let units = 0;
    for (const nodes of this.#collect(root, [operation.selectionSet]).values()) {
      const name = nodes[0]!.name.value;
      if (operation.operation === 'mutation' && name !== '__typename') this.mutations++;
      const entries = this.#entries(root, nodes, 1, 1);
      units += ROOT_PRICES[name] ?? Math.max(1, Math.ceil(entries / ENTRIES_PER_UNIT));
    }
    if (units > LARGEST_PRICE) throw tooComplex(`costs ${units} units; the most is ${LARGEST_PRICE}`);
    return units;
  }

  /** The most list entries that one field and all below it can return, for `parents` parents. */
  #entries(parent: GraphQLObjectType, nodes: readonly FieldNode[], parents: number, depth: number): number {
    if (++this.#fields > MOST_FIELDS) throw tooComplex(`selects more than ${MOST_FIELDS} fields`);
    if (depth > DEEPEST) throw tooComplex(`is nested more than ${DEEPEST} levels deep`);
    const node = nodes[0]!;
    const field = parent.getFields()[node.name.value];
    const size = field ? this.#listSize(field, node) : undefined;
    const each = size === undefined ? parents : parents * size;
    const entries = size === undefined ? 0 : each;
    const type = field ? getNamedType(field.type) : undefined;
    const selections = nodes.flatMap(({ selectionSet }) => selectionSet ?? []);
    if (selections.length === 0) return entries;
    if (isAbstractType(type)) {
      // A record is of one type; the dearest it can be is what it may cost.
      const ofEach = this.#schema
        .getPossibleTypes(type)
        .map((one) => this.#entriesBelow(one, selections, each, depth));
      return entries + Math.max(0, ...ofEach);
    }
    if (!isObjectType(type)) return entries + this.#introspection(selections, depth);
    return entries + this.#entriesBelow(type, selections, each, depth);
  }

  #entriesBelow(
    type: GraphQLObjectType,
    selections: readonly SelectionSetNode[],
    each: number,
    depth: number,
  ): number {
    let entries = 0;
    for (const children of this.#collect(type, selections).values()) {
      entries += this.#entries(type, children, each, depth + 1);
    }
    return entries;
  }

  /** Meta fields return no entries of ours, but they count as fields and levels. */
  #introspection(selections: readonly SelectionSetNode[], depth: number): number {
    if (depth > DEEPEST) throw tooComplex(`is nested more than ${DEEPEST} levels deep`);
    const visit = (set: SelectionSetNode): void => {
      for (const selection of set.selections) {
        if (++this.#fields > MOST_FIELDS) throw tooComplex(`selects more than ${MOST_FIELDS} fields`);
        if (selection.kind === Kind.FIELD && selection.selectionSet) {
          this.#introspection([selection.selectionSet], depth + 1);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          visit(selection.selectionSet);
        } else if (selection.kind === Kind.FRAGMENT_SPREAD) {
          const fragment = this.#fragments.get(selection.name.value);
          if (fragment) visit(fragment.selectionSet);
        }
      }
    };
    selections.forEach(visit);
    return 0;
  }

  /** How many entries the list that a field returns may have; undefined if it returns none. */
  #listSize(field: GraphQLField<unknown, unknown>, node: FieldNode): number | undefined {
    const { args } = field;
    if (args.some(({ name }) => name === 'first')) return this.#pageSize(node);
    const keys =
      isListType(getNullableType(field.type)) && args.find(({ type }) => isListType(getNullableType(type)));
    return keys ? this.#length(node, keys.name) : undefined;
  }

  /** How many values an argument that is a list is given. */
  #length(node: FieldNode, name: string): number {
    const value = node.arguments?.find((argument) => argument.name.value === name)?.value;
    if (value?.kind === Kind.LIST) return value.values.length;
    const read = value && this.#value(value);
    return Array.isArray(read) ? read.length : 1;
  }

  #pageSize(node: FieldNode): number {
    const sizes = [this.#integer(node, 'first'), this.#integer(node, 'last')].filter((size) => size !== null);
    return sizes.length > 0 ? Math.max(0, ...sizes) : DEFAULT_PAGE_SIZE;
  }

  #integer(node: FieldNode, name: string): number | null {
    const value = node.arguments?.find((argument) => argument.name.value === name)?.value;
    const read = value === undefined ? null : this.#value(value);
    return typeof read === 'number' ? read : null;
  }

  #value(node: ValueNode): unknown {
    if (node.kind === Kind.VARIABLE) {
      this.dependsOnVariables = true;
      return this.#variables[node.name.value];
    }
    if (node.kind === Kind.INT) return Number(node.value);
    return node.kind === Kind.BOOLEAN ? node.value : null;
  }

  /** The fields that execution would resolve for these selection sets, by response key. */
  #collect(type: GraphQLObjectType, sets: readonly SelectionSetNode[]): Map<string, FieldNode[]> {
    const groups = new Map<string, FieldNode[]>();
    const visited = new Set<string>();
    const visit = (set: SelectionSetNode): void => {
      for (const selection of set.selections) {
        if (!this.#included(selection)) continue;
        if (selection.kind === Kind.FIELD) {
          const key = (selection.alias ?? selection.name).value;
          const group = groups.get(key);
          if (group) group.push(selection);
          else groups.set(key, [selection]);
        } else if (selection.kind === Kind.INLINE_FRAGMENT) {
          if (this.#applies(type, selection.typeCondition?.name.value)) visit(selection.selectionSet);
        } else if (!visited.has(selection.name.value)) {
          visited.add(selection.name.value);
          const fragment = this.#fragments.get(selection.name.value);
          if (fragment && this.#applies(type, fragment.typeCondition.name.value))
            visit(fragment.selectionSet);
        }
      }
    };
    sets.forEach(visit);
    return groups;
  }

  #included(node: { directives?: FieldNode['directives'] }): boolean {
    for (const directive of node.directives ?? []) {
      const when = directive.arguments?.find(({ name }) => name.value === 'if')?.value;
      if (!when) continue;
      if (directive.name.value === 'skip' && this.#value(when) === true) return false;
      if (directive.name.value === 'include' && this.#value(when) === false) return false;
    }
    return true;
  }

  #applies(type: GraphQLObjectType, condition: string | undefined): boolean {
    if (condition === undefined || condition === type.name) return true;
    const abstract = this.#schema.getType(condition);
    return isAbstractType(abstract) && this.#schema.isSubType(abstract, type);
  }
}

const tooComplex = (why: string) => new AppError('QUERY_TOO_COMPLEX', `The operation ${why}.`);
