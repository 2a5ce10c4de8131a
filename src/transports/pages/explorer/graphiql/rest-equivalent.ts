import {
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  type ValueNode,
  valueFromASTUntyped,
} from 'graphql';
import type { RestOperation } from '../../rest-operation.ts';
import type { Subject } from './cost.ts';

/** The REST call equivalent to a GraphQL operation. */
export interface RestEquivalent {
  rest: RestOperation;
  method: string;
  /** Including the query. */
  url: string;
  /** JSON. */
  body?: string | undefined;
  /** What the call cannot express. */
  missing: string[];
}

/** The arguments of a field by path, such as `filter.status`. */
type Arguments = Map<string, ValueNode>;

/** A REST operation as a pattern: the fields it selects, and which arguments its parameters stand for. */
interface Pattern {
  rest: RestOperation;
  /** Field names from the root: `category`, `pets`. */
  fields: string[];
  /** By the level of the field and the path of the argument. */
  parameters: Map<string, string>;
}

const WRAPPERS = new Set(['nodes', 'edges', 'node', 'pageInfo']);

/** Finds REST equivalents by matching the documents that REST operations run. */
export class RestEquivalents {
  readonly #patterns: Pattern[];

  constructor(operations: readonly RestOperation[]) {
    // Most specific first: a list below a record before the record itself.
    this.#patterns = operations.map(patternOf).toSorted((a, b) => b.fields.length - a.fields.length);
  }

  /** @returns undefined if REST has no equivalent or would need several calls */
  of({ operation, variables }: Subject): RestEquivalent | undefined {
    const roots = fieldsOf(operation.selectionSet).filter(
      ({ name }) => name.value !== '__typename' && name.value !== 'rateLimit',
    );
    if (roots.length !== 1) return undefined;
    for (const pattern of this.#patterns) {
      const equivalent = match(pattern, operation, roots[0]!, variables);
      if (equivalent) return equivalent;
    }
    return undefined;
  }
}

function patternOf(rest: RestOperation): Pattern {
  const [operation] = parse(rest.document).definitions as [OperationDefinitionNode];
  const parameters = new Map<string, string>();
  const fields: string[] = [];
  let [field] = fieldsOf(operation.selectionSet);
  while (field) {
    fields.push(field.name.value);
    for (const [path, value] of argumentsOf(field)) {
      if (value.kind === Kind.VARIABLE) parameters.set(`${fields.length - 1} ${path}`, value.name.value);
    }
    // The alias `page` marks a list below a record.
    field = fieldsOf(field.selectionSet).find(({ alias }) => alias?.value === 'page');
  }
  return { rest, fields, parameters };
}

function match(
  { rest, fields, parameters }: Pattern,
  operation: OperationDefinitionNode,
  root: FieldNode,
  variables: Record<string, unknown>,
): RestEquivalent | undefined {
  if (isReading(rest) !== (operation.operation === 'query')) return undefined;
  // A GraphQL mutation changes only the given fields, like PATCH.
  if (rest.method === 'PUT') return undefined;
  const given: Record<string, unknown> = {};
  const missing: string[] = [];
  let field: FieldNode | undefined = root;
  for (const [level, name] of fields.entries()) {
    if (field?.name.value !== name) return undefined;
    for (const [path, value] of argumentsOf(field)) {
      const read = valueFromASTUntyped(value, variables);
      if (read === undefined || read === null) continue;
      const parameter = parameters.get(`${level} ${path}`);
      if (parameter === undefined) missing.push(`the argument ${path}`);
      else given[parameter] = read;
    }
    const next = fields[level + 1];
    if (next === undefined) break;
    const below: FieldNode[] = fieldsOf(field.selectionSet);
    field = below.length === 1 ? below[0] : undefined;
  }
  return equivalentOf(rest, given, missing, field);
}

function equivalentOf(
  rest: RestOperation,
  given: Record<string, unknown>,
  missing: string[],
  field: FieldNode | undefined,
): RestEquivalent | undefined {
  let isComplete = true;
  const path = rest.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (given[name] === undefined) isComplete = false;
    return encodeURIComponent(String(given[name]));
  });
  if (!isComplete) return undefined;
  const query = new URLSearchParams();
  for (const name of rest.query) {
    for (const value of [given[name] ?? []].flat()) {
      if (name === 'after' && !/^\d+$/.test(String(value)))
        missing.push('the cursor (REST takes the last id seen)');
      else query.append(name, String(value));
    }
  }
  const nested = nestedIn(field?.selectionSet);
  if (nested.length > 0) missing.push(`nested data (${nested.join(', ')}), which takes further calls`);
  const { method } = rest;
  const url = query.size > 0 ? `${path}?${query}` : path;
  return {
    rest,
    method,
    url,
    missing,
    ...(given.input !== undefined && { body: JSON.stringify(given.input) }),
  };
}

const isReading = ({ method }: RestOperation): boolean => method === 'GET';

const fieldsOf = (set: SelectionSetNode | undefined): FieldNode[] =>
  set?.selections.filter((selection) => selection.kind === Kind.FIELD) ?? [];

/** The subselected fields of a record that have selections of their own. */
const nestedIn = (set: SelectionSetNode | undefined): string[] =>
  fieldsOf(set).flatMap((field) => {
    if (!field.selectionSet) return [];
    return WRAPPERS.has(field.name.value) ? nestedIn(field.selectionSet) : [field.name.value];
  });

/** Flattens `filter: { status: … }` to `filter.status`, but keeps `input` whole, as a request body does. */
function argumentsOf(field: FieldNode): Arguments {
  const values: Arguments = new Map();
  for (const { name, value } of field.arguments ?? []) {
    if (value.kind === Kind.OBJECT && name.value !== 'input') {
      for (const inner of value.fields) values.set(`${name.value}.${inner.name.value}`, inner.value);
    } else values.set(name.value, value);
  }
  return values;
}
