import { grouped } from '../foundation/words.ts';
import {
  type FieldNode,
  type GraphQLArgument,
  GraphQLError,
  type GraphQLField,
  type GraphQLFormattedError,
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
  TypeNameMetaFieldDef,
} from 'graphql';
import { memoized } from '../foundation/cache.ts';
import { type Issue, MAX_LISTED_ISSUES, validationFailed } from '../foundation/errors.ts';
import { DEFAULT_PAGE_SIZE, ENTRIES_PER_UNIT, MAX_PRICE, WEIGHT_PER_UNIT } from '../foundation/meter.ts';
import { isOpaque, ruleOf, textIssues } from '../schema/arguments.ts';
import { inputRulesOf, isParsed, parseInput } from '../schema/input-rules.ts';
import { isSchemaField } from './introspection.ts';
import { OperationRefused, publicError, tooComplex } from './result.ts';
import type { SelectedField, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** The weight up to which `rateLimit` and root `__typename` are free. */
const FREE_WEIGHT = 100;
/** The number of characters that weigh as much as a number or id. */
const CHARACTERS_PER_WEIGHT = 100;
/** The number of argument values of a field that weigh nothing; the rest weigh 1 each, for each object. */
const FREE_LITERALS = 32;
/** The number of events covered by the price of a subscription. */
const SUBSCRIPTION_EVENTS = 100;

/** The price of an operation. */
export interface Price {
  units: number;
  /** The root fields with the units of each. */
  fields: readonly { readonly name: string; readonly units: number }[];
  /** True if the same operation may have another price later. */
  dependsOnTime: boolean;
}

/**
 * An upper bound on part of a response. `entries` counts list entries on all levels. `weight` counts each field of each
 * object that can appear: 1, or 1 per 100 characters of text.
 */
interface Amount {
  entries: number;
  weight: number;
}

type Field = GraphQLField<unknown, unknown>;
type ArgumentValues = Readonly<Record<string, unknown>>;

/** The weight and size of a field. */
interface Measure {
  /** The weight of a value. */
  weight: number;
  /** The maximum number of entries of a list, from its arguments. */
  size: ((values: ArgumentValues) => number) | undefined;
}

/** The measures of all fields of a schema. */
export type Measures = ReadonlyMap<Field, Measure>;

/** @throws Error if the schema has a list or text of unbounded size, which cannot be priced */
export const measuresOf = memoized((schema: GraphQLSchema): Measures => {
  const types = Object.values(schema.getTypeMap()).filter(
    (type): type is GraphQLObjectType => isObjectType(type) && !type.name.startsWith('__'),
  );
  const fields = types.flatMap((type) => Object.values(type.getFields()).map((field) => ({ type, field })));
  const connections = new Set(
    fields.filter(({ field }) => isPaged(field)).map(({ field }) => getNamedType(field.type)),
  );
  return new Map(
    fields.map(({ type, field }) => {
      const size = sizeOf(field);
      const isConnection = connections.has(type);
      if (isList(field) && !isConnection && !size)
        throw new Error(
          `${type.name}.${field.name}: nothing says how many entries it can have. Declare extensions.maxItems: a number, or a function of the field's arguments.`,
        );
      const isWrapper = isConnection && !isLeafType(getNamedType(field.type));
      return [field, { weight: isWrapper ? 0 : weightOf(type, field), size }];
    }),
  );
});

/**
 * Prices an operation in units: the sum over its root fields of `max(1, ceil(entries / 100), ceil(weight / 2500))`, at
 * the maximum that each can return. Also validates all arguments: page sizes, cursors, sorts, inputs and ids.
 *
 * @param variables coerced variables, with defaults
 * @throws OperationRefused with the first faults, QUERY_TOO_COMPLEX above MAX_PRICE units
 */
export function priceOf(
  measures: Measures,
  selection: Selection,
  kind: 'query' | 'mutation' | 'subscription',
  variables: Variables,
): Price {
  const walk = new Walk(measures, variables);
  const objects = kind === 'subscription' ? SUBSCRIPTION_EVENTS : 1;
  let freeWeight = 0;
  let free: string | undefined;
  const priced: { field: SelectedField; units: number }[] = [];
  for (const field of selection) {
    const { entries, weight } = walk.amountOf(field, objects);
    const own = field.definition === TypeNameMetaFieldDef ? 1 : 0;
    if (isSchemaField(field)) priced.push({ field, units: 1 });
    else if (own > 0 || field.definition.extensions.free) {
      freeWeight += weight + own;
      free ??= field.definition.name;
    } else {
      const units = Math.max(1, Math.ceil(entries / ENTRIES_PER_UNIT), Math.ceil(weight / WEIGHT_PER_UNIT));
      priced.push({ field, units });
    }
  }
  if (walk.errors.length > 0) throw new OperationRefused(walk.errors);
  const fields = priced.map(({ field, units }) => ({ name: field.definition.name, units }));
  if (free !== undefined)
    fields.push({
      name: free,
      units: freeWeight > FREE_WEIGHT ? Math.ceil(freeWeight / WEIGHT_PER_UNIT) : 0,
    });
  const units = fields.reduce((sum, { units }) => sum + units, 0);
  if (units > MAX_PRICE) {
    const costliest = priced.reduce((most, each) => (each.units > most.units ? each : most), {
      field: selection[0]!,
      units: 0,
    });
    const [all, own] = [units, costliest.units].map(grouped);
    throw tooComplex(
      `costs ${all} units; the maximum is ${MAX_PRICE}. ${costliest.field.key} costs ${own}: ${walk.adviceFor(costliest.field, costliest.units)}`,
    );
  }
  return { units, fields, dependsOnTime: walk.dependsOnTime };
}

/** Measures the selection of an operation for one set of variables. */
class Walk {
  dependsOnTime = false;
  /** One error for each field with invalid arguments. */
  readonly errors: GraphQLFormattedError[] = [];
  readonly #measures: Measures;
  readonly #variables: Variables;
  /** The arguments of each node, which several types may share. */
  readonly #arguments = new Map<FieldNode, ArgumentValues>();

  constructor(measures: Measures, variables: Variables) {
    this.#measures = measures;
    this.#variables = variables;
  }

  /**
   * An upper bound on what a field and its subselections can return, excluding the field's own weight.
   *
   * @param objects the number of objects with the field
   * @param page the number of entries in the lists of the enclosing connection
   */
  amountOf({ definition, nodes, subselections }: SelectedField, objects: number, page?: number): Amount {
    const argumentValues =
      nodes[0].arguments!.length > 0 ? this.#argumentsOf(definition, nodes[0]) : NO_ARGUMENTS;
    if (typeof definition.extensions.maxItems === 'function') this.dependsOnTime = true;
    const { weight: own = 1, size: sizeBy } = this.#measures.get(definition) ?? {};
    const size = sizeBy?.(argumentValues) ?? page;
    const more = objects * weightOfArguments(definition, argumentValues);
    if (!isList(definition)) {
      const { entries, weight } = this.#maximum(subselections, objects, size);
      // A page is read even if neither nodes nor edges are selected.
      const isOnlyRead = size !== undefined && isPaged(definition) && !hasList(subselections);
      return { entries: entries + (isOnlyRead ? objects * size : 0), weight: weight + more };
    }
    const entries = objects * (size ?? 1);
    const amount = this.#maximum(subselections, entries, undefined);
    // The first value is counted as the field itself.
    const values = isLeafType(getNamedType(definition.type)) ? Math.max(0, entries - objects) : 0;
    const weight = amount.weight + more + values * own;
    return { entries: amount.entries + entries, weight };
  }

  /** Advice for an operation that costs too many units. */
  adviceFor({ definition, nodes }: SelectedField, units: number): string {
    if (units <= MAX_PRICE) return `send several operations of at most ${MAX_PRICE} units`;
    const values = this.#argumentsOf(definition, nodes[0]);
    const page = isPaged(definition) ? pageSize(values) : 0;
    const fitting = Math.floor((page * MAX_PRICE) / units);
    return fitting > 0
      ? `${typeof values.last === 'number' ? 'last' : 'first'}: ${fitting} fits`
      : 'ask for less in the lists below it (first, last)';
  }

  /** The maximum over the possible types, since an object has one of them. */
  #maximum(subselections: SelectedField['subselections'], objects: number, page: number | undefined): Amount {
    const maximum: Amount = { entries: 0, weight: 0 };
    for (const selection of subselections.values()) {
      let entries = 0;
      let weight = 0;
      for (const field of selection) {
        const amount = this.amountOf(field, objects, page);
        entries += amount.entries;
        weight += amount.weight + objects * (this.#measures.get(field.definition)?.weight ?? 1);
      }
      maximum.entries = Math.max(maximum.entries, entries);
      maximum.weight = Math.max(maximum.weight, weight);
    }
    return maximum;
  }

  /** The arguments of a field, validated the first time. */
  #argumentsOf(definition: Field, node: FieldNode): ArgumentValues {
    let values = this.#arguments.get(node);
    if (values) return values;
    const issues: Issue[] = [];
    try {
      values = getArgumentValues(definition, node, this.#variables);
      for (const argument of definition.args) issues.push(...issuesOf(argument, values));
    } catch (error) {
      if (!(error instanceof GraphQLError)) throw error;
      // Validation permits nullable variables with a default.
      const path = node.arguments!.find(({ value }) => error.nodes?.includes(value))?.name.value ?? '';
      issues.push({ path, message: 'must not be null' });
      values = NO_ARGUMENTS;
    }
    this.#arguments.set(node, values);
    // A cursor may break both the list's rule and that of ids, but is reported once.
    const faults = [...new Map(issues.map((issue) => [issue.path, issue])).values()];
    if (faults.length > 0 && this.errors.length < MAX_LISTED_ISSUES) {
      const fault = validationFailed(faults);
      const error = new GraphQLError(fault.message, { nodes: node, originalError: fault });
      this.errors.push(publicError(error));
    }
    return values;
  }
}

const NO_ARGUMENTS: ArgumentValues = Object.freeze({});

/** The issues with an argument that don't depend on data. */
function issuesOf(argument: GraphQLArgument, values: ArgumentValues): readonly Issue[] {
  const issues = ruleOf(argument)?.(values as never) ?? [];
  const value = values[argument.name];
  if (value == null) return issues;
  const rules = inputRulesOf(argument.type);
  if (!rules)
    return isOpaque(argument) ? issues : [...issues, ...textIssues(argument.type, value, argument.name)];
  if (isParsed(value as object)) return issues;
  const all: Issue[] = [...issues];
  parseInput(rules, value, all, argument.name);
  return all;
}

/** The weight of arguments, since resolvers may read every value for every object. */
function weightOfArguments({ args }: Field, values: ArgumentValues): number {
  if (values === NO_ARGUMENTS) return 0;
  let count = 0;
  for (const { name, type } of args) if (!isLeafType(getNullableType(type))) count += valuesIn(values[name]);
  return Math.max(0, count - FREE_LITERALS);
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return value === undefined ? 0 : 1;
  let count = 0;
  for (const part of Object.values(value)) count += valuesIn(part);
  return count;
}

/** True if a field is paginated. */
const isPaged = ({ args }: Field): boolean => args.some(({ name }) => name === 'first');

const isList = ({ type }: Field): boolean => isListType(getNullableType(type));

/** The number of entries of a page; at most one of the arguments is set. */
const pageSize = ({ first, last }: ArgumentValues): number => Number(first ?? last ?? DEFAULT_PAGE_SIZE);

/** A function for the maximum number of entries of a list; undefined if the field isn't a list or declares no bound. */
function sizeOf(field: Field): Measure['size'] {
  if (isPaged(field)) return pageSize;
  if (!isList(field)) return undefined;
  const { maxItems } = field.extensions;
  if (typeof maxItems === 'number') return () => maxItems;
  if (typeof maxItems === 'function') return maxItems as Measure['size'];
  // An argument may name the entries one by one.
  const named = field.args.find(({ type }) => isListType(getNullableType(type)));
  return named && ((values) => (Array.isArray(values[named.name]) ? (values[named.name] as []).length : 1));
}

const hasList = (subselections: SelectedField['subselections']): boolean =>
  [...subselections.values()].some((selection) => selection.some(({ definition }) => isList(definition)));

/** The weight of a field's value. Texts declare `extensions.maxLength`, in the field or its scalar. */
function weightOf(owner: GraphQLObjectType, { name, type, extensions }: Field): number {
  const named = getNamedType(type);
  const maxLength = extensions.maxLength ?? named.extensions.maxLength;
  if (typeof maxLength === 'number') return Math.max(1, Math.ceil(maxLength / CHARACTERS_PER_WEIGHT));
  if (isScalarType(named) && (named.name === 'String' || !isSpecifiedScalarType(named)))
    throw new Error(
      `${owner.name}.${name}: nothing says how long this text can be. Declare extensions.maxLength.`,
    );
  return 1;
}
