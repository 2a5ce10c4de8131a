import {
  type ArgumentNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
  visit,
} from 'graphql';
import type { Pricing } from '../../price.ts';

let listed: Promise<Pricing | undefined> | undefined;

/** The server's prices; undefined if it hides its schema or cannot be reached. */
export function pricing(): Promise<Pricing | undefined> {
  listed ??= fetch('/explorer/pricing.json')
    .then((response) => (response.ok ? (response.json() as Promise<Pricing>) : undefined))
    .catch(() => {
      listed = undefined;
      return undefined;
    });
  return listed;
}

/** A list in an operation. */
export interface PricedList {
  /** Response keys from the root: `categories › pets`. */
  path: string;
  node: FieldNode;
  /** Entries on one page. */
  size: number;
  /** The most entries it can return, over all parents. */
  entries: number;
  /** The most weight its own fields can return, without lists below it. */
  weight: number;
}

/** An estimate of what an operation costs, and why. The cost in force comes from the server. */
export interface Estimate {
  units: number;
  /** Most expensive first. */
  lists: PricedList[];
}

/** Estimates the cost of an operation by the server's prices. */
export function estimate(
  prices: Pricing,
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): Estimate {
  const lists: PricedList[] = [];
  const fragments = new Map(
    document.definitions
      .filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
      .map((definition) => [definition.name.value, definition]),
  );
  interface Place {
    path: readonly string[];
    rows: number;
    /** Entries on a page of the enclosing connection. */
    page?: number;
    /** The list whose own fields are counted. */
    list?: PricedList;
  }
  const sum = { entries: 0, weight: 0 };

  const visitSet = (type: GraphQLObjectType, set: SelectionSetNode, place: Place): void => {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) {
        visitField(type, selection, place);
        continue;
      }
      const { selectionSet, typeCondition } =
        selection.kind === Kind.INLINE_FRAGMENT ? selection : (fragments.get(selection.name.value) ?? {});
      const other = typeCondition && schema.getType(typeCondition.name.value);
      if (selectionSet) visitSet(isObjectType(other) ? other : type, selectionSet, place);
    }
  };
  const visitField = (type: GraphQLObjectType, node: FieldNode, place: Place): void => {
    const field = type.getFields()[node.name.value];
    if (!field) return;
    if (place.path.length > 0) {
      const weight = place.rows * (prices.weights[`${type.name}.${field.name}`] ?? 1);
      sum.weight += weight;
      if (place.list) place.list.weight += weight;
    }
    const paged = field.args.some(({ name }) => name === 'first');
    const size = paged ? pageSize(node, variables, prices) : listSize(field, node, variables);
    const path = [...place.path, node.alias?.value ?? node.name.value];
    let { rows, page, list } = place;
    if (paged) {
      page = size!;
      list = {
        path: path.filter((key) => !WRAPPERS.has(key)).join(' › '),
        node,
        size: page,
        entries: rows * page,
        weight: 0,
      };
      lists.push(list);
    }
    if (isListType(getNullableType(field.type))) {
      rows *= size ?? page ?? 1;
      sum.entries += rows;
    }
    const named = getNamedType(field.type);
    if (node.selectionSet && isObjectType(named))
      visitSet(named, node.selectionSet, {
        path,
        rows,
        ...(page !== undefined && { page }),
        ...(list && { list }),
      });
  };

  let units = 0;
  const root = schema.getRootType(operation.operation);
  const rows = operation.operation === 'subscription' ? prices.subscriptionRows : 1;
  for (const node of rootFields(operation.selectionSet, fragments)) {
    if (!root || prices.free.includes(`${root.name}.${node.name.value}`)) continue;
    Object.assign(sum, { entries: 0, weight: 0 });
    visitField(root, node, { path: [], rows });
    units += Math.max(
      1,
      Math.ceil(sum.entries / prices.entriesPerUnit),
      Math.ceil(sum.weight / prices.weightPerUnit),
    );
  }
  const share = ({ entries, weight }: PricedList) =>
    Math.max(entries / prices.entriesPerUnit, weight / prices.weightPerUnit);
  return { units, lists: lists.toSorted((a, b) => share(b) - share(a)) };
}

const WRAPPERS = new Set(['nodes', 'edges', 'node']);

function* rootFields(
  set: SelectionSetNode,
  fragments: ReadonlyMap<string, { selectionSet: SelectionSetNode }>,
): Generator<FieldNode> {
  for (const selection of set.selections) {
    if (selection.kind === Kind.FIELD) yield selection;
    else {
      const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
      if (inner) yield* rootFields(inner.selectionSet, fragments);
    }
  }
}

function pageSize(node: FieldNode, variables: Record<string, unknown>, prices: Pricing): number {
  const given = (node.arguments ?? [])
    .filter(({ name }) => name.value === 'first' || name.value === 'last')
    .map(({ value }) => Number(valueFromASTUntyped(value, variables) ?? Number.NaN))
    .filter((size) => !Number.isNaN(size));
  return given.length > 0 ? Math.max(...given) : prices.defaultPageSize;
}

/** The size of a list that an argument names one by one, such as `nodes(nodeIds:)`. */
function listSize(
  { type, args }: GraphQLField<unknown, unknown>,
  node: FieldNode,
  variables: Record<string, unknown>,
): number | undefined {
  const keys =
    isListType(getNullableType(type)) && args.find((argument) => isListType(getNullableType(argument.type)));
  const value = keys && node.arguments?.find(({ name }) => name.value === keys.name)?.value;
  const given = value && valueFromASTUntyped(value, variables);
  return Array.isArray(given) ? given.length : undefined;
}

/** An operation with a smaller page. */
export interface Smaller {
  list: PricedList;
  /** The largest size that fits. */
  first: number;
  document: DocumentNode;
  operation: OperationDefinitionNode;
}

/**
 * Finds the list, and its largest page, with which an operation fits a number of units.
 *
 * @param estimateOf estimates a changed operation
 * @returns undefined if no single list is enough
 */
export function smaller(
  limit: number,
  lists: readonly PricedList[],
  document: DocumentNode,
  operation: OperationDefinitionNode,
  estimateOf: (document: DocumentNode, operation: OperationDefinitionNode) => number,
): Smaller | undefined {
  for (const list of lists) {
    const resized = (first: number): Smaller => {
      const changed = visit(document, {
        Field: (node) => (node === list.node ? withFirst(node, first) : undefined),
      });
      const index = document.definitions.indexOf(operation);
      return {
        list,
        first,
        document: changed,
        operation: changed.definitions[index] as OperationDefinitionNode,
      };
    };
    const fits = (first: number) => {
      const made = resized(first);
      return estimateOf(made.document, made.operation) <= limit;
    };
    if (list.size < 2 || !fits(1)) continue;
    let low = 1;
    let high = list.size;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (fits(middle)) low = middle;
      else high = middle;
    }
    return resized(low);
  }
  return undefined;
}

function withFirst(node: FieldNode, first: number): FieldNode {
  const value: ValueNode = { kind: Kind.INT, value: String(first) };
  const isSize = ({ name }: ArgumentNode) => name.value === 'first' || name.value === 'last';
  const given = node.arguments?.find(isSize)?.name.value ?? 'first';
  const size: ArgumentNode = { kind: Kind.ARGUMENT, name: { kind: Kind.NAME, value: given }, value };
  return { ...node, arguments: [size, ...(node.arguments ?? []).filter((argument) => !isSize(argument))] };
}
