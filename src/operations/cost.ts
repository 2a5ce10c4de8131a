import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  Kind,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { DEFAULT_PAGE_SIZE, ENTRIES_PER_UNIT, MAX_COST, WEIGHT_PER_UNIT } from '../foundation/pricing.ts';
import { isSchemaField } from './introspection.ts';
import { isConstant } from './literals.ts';
import { tooComplex } from './refusal.ts';
import type { SelectedField, SelectedOperation, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** Weight up to which `rateLimit` and root `__typename` are free. */
const FREE_WEIGHT = 100;
/** Characters of text that weigh as much as a number or an id. */
const CHARACTERS_PER_WEIGHT = 100;
/** Values in the arguments of a field that weigh nothing; the rest weigh 1 each, for each row. */
const FREE_LITERALS = 32;
/** Events covered by the cost of a subscription. */
const SUBSCRIPTION_ROWS = 100;

export interface Cost {
  units: number;
  /** The root fields with the units of each. */
  fields: readonly { readonly name: string; readonly units: number }[];
  /** Whether other variables could result in another cost. */
  dependsOnVariables: boolean;
}

/**
 * An upper bound on part of a response. `entries` counts list entries on all levels. `weight` counts each
 * field of an object for each row it can appear in: 1, or 1 per 100 characters of text.
 */
interface Amount {
  entries: number;
  weight: number;
}

const max = (a: Amount, b: Amount): Amount => ({
  entries: Math.max(a.entries, b.entries),
  weight: Math.max(a.weight, b.weight),
});

type Field = GraphQLField<unknown, unknown>;

/**
 * Computes the cost of operations in units: the sum over all root fields of `max(1, ceil(entries / 100),
 * ceil(weight / 2500))`, using the most each can return.
 */
export class CostModel {
  readonly #weights = new Map<Field, number>();

  /** @throws Error if the schema has a list or text of unknown size, for which no cost can be computed */
  constructor(schema: GraphQLSchema) {
    const types = Object.values(schema.getTypeMap()).filter(
      (type): type is GraphQLObjectType => isObjectType(type) && !type.name.startsWith('__'),
    );
    const fields = types.flatMap((type) => Object.values(type.getFields()));
    const connections = new Set(fields.filter(isPaged).map(({ type }) => getNamedType(type)));
    for (const type of types) {
      const isConnection = connections.has(type);
      for (const field of Object.values(type.getFields())) {
        if (isListType(getNullableType(field.type)) && !isConnection && !isPaged(field) && !isSized(field)) {
          throw new Error(
            `${type.name}.${field.name}: nothing says how many entries it can have. Declare extensions.maxItems: a number, or a function of the field's arguments.`,
          );
        }
        this.#weights.set(field, isConnection && !isLeafType(getNamedType(field.type)) ? 0 : weightOf(field));
      }
    }
  }

  /**
   * @param variables coerced, with defaults
   * @throws QUERY_TOO_COMPLEX above MAX_COST units
   */
  costOf(
    { selection }: SelectedOperation,
    kind: 'query' | 'mutation' | 'subscription',
    variables: Variables,
  ): Cost {
    const analysis = new CostAnalysis(this.#weights, variables);
    const rows = kind === 'subscription' ? SUBSCRIPTION_ROWS : 1;
    let units = 0;
    let freeWeight = 0;
    const fields: { name: string; units: number }[] = [];
    const add = ({ definition }: SelectedField, own: number) => {
      units += own;
      fields.push({ name: definition.name, units: own });
    };
    for (const field of selection) {
      if (isSchemaField(field)) {
        add(field, 1);
        continue;
      }
      const { entries, weight } = analysis.amountOf(field, rows);
      const own = field.definition === TypeNameMetaFieldDef ? 1 : 0;
      if (own > 0 || field.definition.extensions.free) freeWeight += weight + own;
      else
        add(field, Math.max(1, Math.ceil(entries / ENTRIES_PER_UNIT), Math.ceil(weight / WEIGHT_PER_UNIT)));
    }
    if (freeWeight > FREE_WEIGHT) {
      const own = Math.ceil(freeWeight / WEIGHT_PER_UNIT);
      units += own;
      fields.push({ name: 'rateLimit', units: own });
    }
    if (units > MAX_COST) {
      throw tooComplex(`costs ${units.toLocaleString('en-US')} units; the maximum is ${MAX_COST}`);
    }
    return { units, fields, dependsOnVariables: analysis.dependsOnVariables };
  }
}

class CostAnalysis {
  dependsOnVariables = false;
  readonly #weights: ReadonlyMap<Field, number>;
  readonly #variables: Variables;
  readonly #counted = new Map<object, number>();

  constructor(weights: ReadonlyMap<Field, number>, variables: Variables) {
    this.#weights = weights;
    this.#variables = variables;
  }

  /**
   * An upper bound on what a field and its subselections can return, excluding the field's own weight.
   *
   * @param rows number of objects that the field belongs to
   * @param page entries in the lists of the enclosing connection
   */
  amountOf({ definition, nodes, subselections }: SelectedField, rows: number, page?: number): Amount {
    const amount = this.#selected(definition, nodes[0], subselections, rows, page);
    if (nodes[0].arguments!.length > 0) amount.weight += rows * this.#weightOfArguments(definition, nodes[0]);
    return amount;
  }

  #selected(
    definition: Field,
    node: FieldNode,
    subselections: SelectedField['subselections'],
    rows: number,
    page: number | undefined,
  ): Amount {
    const size = this.#sizeOf(definition, node) ?? page;
    if (!isListType(getNullableType(definition.type))) {
      const amount = this.#maximum(subselections, rows, size);
      // The page is read even if neither nodes nor edges are selected.
      if (size !== undefined && isPaged(definition) && !hasList(subselections)) amount.entries += rows * size;
      return amount;
    }
    const entries = rows * (size ?? 1);
    const amount = this.#maximum(subselections, entries, undefined);
    // The field itself counts once, as if it had one value.
    const values = isLeafType(getNamedType(definition.type)) ? Math.max(0, entries - rows) : 0;
    const weight = amount.weight + values * (this.#weights.get(definition) ?? 1);
    return { entries: amount.entries + entries, weight };
  }

  /** Resolvers may look at every value of an argument for every row. */
  #weightOfArguments({ args }: Field, { arguments: given }: FieldNode): number {
    let count = 0;
    for (const { name, value } of given!) {
      if (value.kind !== Kind.VARIABLE) continue;
      const argument = args.find((definition) => definition.name === name.value)!;
      if (isLeafType(getNullableType(argument.type))) continue;
      if (!isConstant(value.name.value)) this.dependsOnVariables = true;
      count += this.#valuesIn(this.#variables[value.name.value]);
    }
    return Math.max(0, count - FREE_LITERALS);
  }

  #valuesIn(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 1;
    let count = this.#counted.get(value);
    if (count === undefined) {
      count = 0;
      for (const part of Object.values(value)) count += this.#valuesIn(part);
      this.#counted.set(value, count);
    }
    return count;
  }

  /** A record has one type, so the most expensive one counts. */
  #maximum(subselections: SelectedField['subselections'], rows: number, page: number | undefined): Amount {
    let maximum: Amount = { entries: 0, weight: 0 };
    for (const selection of subselections.values()) maximum = max(maximum, this.#sum(selection, rows, page));
    return maximum;
  }

  #sum(selection: Selection, rows: number, page: number | undefined): Amount {
    const sum: Amount = { entries: 0, weight: 0 };
    for (const field of selection) {
      const { entries, weight } = this.amountOf(field, rows, page);
      sum.entries += entries;
      sum.weight += weight + rows * (this.#weights.get(field.definition) ?? 1);
    }
    return sum;
  }

  /** The number of entries a list field can return, by its arguments; undefined if it is not a list with a size. */
  #sizeOf(definition: Field, node: FieldNode): number | undefined {
    if (isPaged(definition)) {
      const sizes = ['first', 'last'].map((name) => this.#argument(node, name));
      const given = sizes.filter((size) => typeof size === 'number');
      return given.length > 0 ? Math.max(0, ...given) : DEFAULT_PAGE_SIZE;
    }
    if (!isListType(getNullableType(definition.type))) return undefined;
    const { maxItems } = definition.extensions;
    if (typeof maxItems === 'number') return maxItems;
    if (typeof maxItems === 'function') return maxItems(this.#arguments(definition, node));
    const keys = listSizeArgument(definition);
    if (!keys) return undefined;
    const given = this.#argument(node, keys.name);
    return Array.isArray(given) ? given.length : 1;
  }

  #arguments(definition: Field, node: FieldNode): Record<string, unknown> {
    // The function may also depend on the time.
    this.dependsOnVariables = true;
    return getArgumentValues(definition, node, this.#variables);
  }

  #argument(node: FieldNode, name: string): unknown {
    const value = node.arguments?.find((argument) => argument.name.value === name)?.value;
    return value && this.#value(value);
  }

  /** The value of an argument that determines a list's size. For lists, only the length matters. */
  #value(node: ValueNode): unknown {
    if (node.kind === Kind.VARIABLE) {
      if (!isConstant(node.name.value)) this.dependsOnVariables = true;
      return this.#variables[node.name.value];
    }
    if (node.kind === Kind.INT) return Number(node.value);
    if (node.kind === Kind.STRING) return node.value;
    return node.kind === Kind.LIST ? node.values : null;
  }
}

/** Whether a field is paginated by its arguments. */
const isPaged = ({ args }: Field): boolean => args.some(({ name }) => name === 'first');

/** The list argument that names a field's entries one by one. */
const listSizeArgument = ({ args }: Field) => args.find(({ type }) => isListType(getNullableType(type)));

/** Whether a list that is not paginated says how many entries it can have. */
const isSized = (field: Field): boolean =>
  ['number', 'function'].includes(typeof field.extensions.maxItems) || listSizeArgument(field) !== undefined;

const hasList = (subselections: SelectedField['subselections']): boolean =>
  [...subselections.values()].some((selection) =>
    selection.some(({ definition }) => isListType(getNullableType(definition.type))),
  );

/**
 * The weight of a field's value. `extensions.maxLength` of the field or its scalar gives the maximum number
 * of characters.
 */
function weightOf({ name, type, extensions }: Field): number {
  const named = getNamedType(type);
  const maxLength = extensions.maxLength ?? named.extensions.maxLength;
  if (typeof maxLength === 'number') return Math.max(1, Math.ceil(maxLength / CHARACTERS_PER_WEIGHT));
  if (isScalarType(named) && (named.name === 'String' || !isSpecifiedScalarType(named)))
    throw new Error(`${name}: nothing says how long this text can be`);
  return 1;
}
