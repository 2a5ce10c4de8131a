import {
  type FieldNode,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isEnumType,
  isLeafType,
  isListType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  Kind,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';
import { DEFAULT_PAGE_SIZE } from './connection.ts';
import { isSchemaField } from './introspection.ts';
import { tooComplex } from './refusal.ts';
import type { SelectedField, SelectedOperation, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** An operation above this many units is refused. */
const MAX_COST = 50;
/** List entries for one unit. */
const ENTRIES_PER_UNIT = 100;
/** Weight for one unit. */
const WEIGHT_PER_UNIT = 2_500;
/** What asks for the budget or for a type's name is free up to this weight. */
const FREE_WEIGHT = 100;
/** Characters of text that weigh 1, as a number or an id does. */
const CHARACTERS_PER_WEIGHT = 100;
/** Events that the cost of a subscription covers. */
const SUBSCRIPTION_ROWS = 100;

export interface Cost {
  units: number;
  /** Whether another set of variables could give another cost. */
  dependsOnVariables: boolean;
}

/**
 * The most that a part of an answer can hold. `entries` are list entries of all levels. `weight` counts each field of an
 * object for each row it can appear in: 1, or 1 for every 100 characters that its text can have.
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
 * What operations cost, in units of the caller's budget: for each field of the root
 * `max(1, ceil(entries / 100), ceil(weight / 2500))` of the most that it can return.
 */
export class CostModel {
  readonly #weights = new Map<Field, number>();

  /** @throws Error for a schema with a list or a text whose size nobody says: then its cost isn't known */
  constructor(schema: GraphQLSchema) {
    const types = Object.values(schema.getTypeMap()).filter(
      (type): type is GraphQLObjectType => isObjectType(type) && !type.name.startsWith('__'),
    );
    const fields = types.flatMap((type) => Object.values(type.getFields()));
    const connections = new Set(fields.filter(isPaged).map(({ type }) => getNamedType(type)));
    for (const type of types) {
      const isConnection = connections.has(type);
      for (const field of Object.values(type.getFields())) {
        if (
          isListType(getNullableType(field.type)) &&
          !isConnection &&
          !isPaged(field) &&
          !listSizeArgument(field)
        )
          throw new Error(`${type.name}.${field.name}: nothing says how many entries it can have`);
        this.#weights.set(field, isConnection && !isLeafType(getNamedType(field.type)) ? 0 : weightOf(field));
      }
    }
  }

  /**
   * @param variables coerced, defaults applied
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
    for (const field of selection) {
      if (isSchemaField(field)) {
        units += 1;
        continue;
      }
      const { entries, weight } = analysis.amountOf(field, rows);
      const own = field.definition === TypeNameMetaFieldDef ? 1 : 0;
      if (own > 0 || field.definition.extensions.free) freeWeight += weight + own;
      else units += Math.max(1, Math.ceil(entries / ENTRIES_PER_UNIT), Math.ceil(weight / WEIGHT_PER_UNIT));
    }
    if (freeWeight > FREE_WEIGHT) units += Math.ceil(freeWeight / WEIGHT_PER_UNIT);
    if (units > MAX_COST) {
      throw tooComplex(`costs ${units.toLocaleString('en-US')} units; the most is ${MAX_COST}`);
    }
    return { units, dependsOnVariables: analysis.dependsOnVariables };
  }
}

class CostAnalysis {
  dependsOnVariables = false;
  readonly #weights: ReadonlyMap<Field, number>;
  readonly #variables: Variables;

  constructor(weights: ReadonlyMap<Field, number>, variables: Variables) {
    this.#weights = weights;
    this.#variables = variables;
  }

  /**
   * What one field and all below it can return, without the weight of the field itself.
   *
   * @param rows how many objects it is a field of
   * @param page how many entries the lists of the connection have that it is a field of
   */
  amountOf({ definition, nodes, subselections }: SelectedField, rows: number, page?: number): Amount {
    const size = this.#sizeOf(definition, nodes[0]) ?? page;
    if (!isListType(getNullableType(definition.type))) {
      const amount = this.#maximum(subselections, rows, size);
      // A page is read even if neither its nodes nor its edges are asked for.
      if (size !== undefined && isPaged(definition) && !hasList(subselections)) amount.entries += rows * size;
      return amount;
    }
    const entries = rows * (size ?? 1);
    const amount = this.#maximum(subselections, entries, undefined);
    return { entries: amount.entries + entries, weight: amount.weight };
  }

  /** A record is of one type; its cost is that of the most expensive type. */
  #maximum(below: SelectedField['subselections'], rows: number, page: number | undefined): Amount {
    let maximum: Amount = { entries: 0, weight: 0 };
    for (const selection of below.values()) maximum = max(maximum, this.#sum(selection, rows, page));
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

  /** How many entries the list has that a field returns, by its arguments; undefined where none says so. */
  #sizeOf(definition: Field, node: FieldNode): number | undefined {
    if (isPaged(definition)) {
      const sizes = ['first', 'last'].map((name) => this.#argument(node, name));
      const given = sizes.filter((size) => typeof size === 'number');
      return given.length > 0 ? Math.max(0, ...given) : DEFAULT_PAGE_SIZE;
    }
    const keys = isListType(getNullableType(definition.type)) && listSizeArgument(definition);
    if (!keys) return undefined;
    const given = this.#argument(node, keys.name);
    return Array.isArray(given) ? given.length : 1;
  }

  #argument(node: FieldNode, name: string): unknown {
    const value = node.arguments?.find((argument) => argument.name.value === name)?.value;
    return value && this.#value(value);
  }

  /** The value of what can say the size of a list; of a list only its length counts. */
  #value(node: ValueNode): unknown {
    if (node.kind === Kind.VARIABLE) {
      this.dependsOnVariables = true;
      return this.#variables[node.name.value];
    }
    if (node.kind === Kind.INT) return Number(node.value);
    return node.kind === Kind.LIST ? node.values : null;
  }
}

/** Whether a field returns a page of as many entries as its arguments say. */
const isPaged = ({ args }: Field): boolean => args.some(({ name }) => name === 'first');

/** The argument that names the entries of a list one by one. */
const listSizeArgument = ({ args }: Field) => args.find(({ type }) => isListType(getNullableType(type)));

const hasList = (below: SelectedField['subselections']): boolean =>
  [...below.values()].some((selection) =>
    selection.some(({ definition }) => isListType(getNullableType(definition.type))),
  );

/** The weight of one value of a field; `extensions.maxLength` of field or scalar says how many characters it can have. */
function weightOf({ name, type, extensions }: Field): number {
  const named = getNamedType(type);
  const maxLength = extensions.maxLength ?? named.extensions.maxLength;
  if (typeof maxLength === 'number') return Math.max(1, Math.ceil(maxLength / CHARACTERS_PER_WEIGHT));
  const isText = isScalarType(named) && (named.name === 'String' || !isSpecifiedScalarType(named));
  if (isText && !isEnumType(named)) throw new Error(`${name}: nothing says how long this text can be`);
  return 1;
}
