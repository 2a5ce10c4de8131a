import {
  type DocumentNode,
  type FieldNode,
  type GraphQLOutputType,
  GraphQLSchema,
  getNamedType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { byteCache, memoized } from '../foundation/cache.ts';
import { listOf, objectOf, type Property, type WriteJson, writeAny } from '../schema/json-writer.ts';
import type { Operation } from './documents.ts';
import { isWriting, partsOf } from './mutation.ts';
import type { Price } from './price.ts';
import type { ErrorReporter } from './result.ts';
import { type SelectedField, type Selection, select } from './selection.ts';
import { coercedDefinitions, type Variables } from './variables.ts';

/** The memory taken by a compiled plan apart from its document, in bytes: for each field, and each node of a field. */
const FIELD_BYTES = 4_000;
const NODE_BYTES = 300;
/** Compiling pays off from the second use on, so one-off operations are never compiled. */
const MIN_USES_TO_COMPILE = 2;
/** Larger operations are interpreted: compiling them would block the event loop for tens of milliseconds. */
const MAX_COMPILED_FIELDS = 300;

/** An operation with its @skip and @include directives resolved, and the values derived from it on use. */
export interface ExecutionPlan {
  readonly operation: Operation;
  /** The schema that its documents are executed against. */
  readonly schema: GraphQLSchema;
  readonly selection: Selection;
  /** Fields on all levels, and the nodes that select them. */
  readonly fields: number;
  readonly nodes: number;
  /** The names of its root fields, without meta fields. */
  readonly rootFields: readonly string[];
  /** The root fields that write. */
  readonly writes: readonly SelectedField[];
  /**
   * The documents to execute one after the other, without fragments and directives: one for each root field that
   * writes.
   */
  readonly documents: readonly DocumentNode[];
  /** The number of its runs. */
  uses: number;
  /** Set once it has been compiled, or is known not to compile. */
  code?: Code;
  /** Set if the price is always the same. */
  price?: Price;
  /** Writes its results as JSON. Set when the first result of compiled code is written. */
  write?: WriteJson;
}

interface Code {
  /** The code of each part; null if the operation is not to be compiled. */
  readonly parts: readonly CompiledQuery[] | null;
  /** Variables in list and object literals, which graphql-jit takes for null if they have no value. */
  readonly nested: readonly string[];
}

/** Keeps the plans of operations, and compiles those that are used repeatedly. */
export class ExecutionPlans {
  readonly #schema: GraphQLSchema;
  readonly #report: ErrorReporter;
  // A plan keeps its document, though that may have left the document cache.
  readonly #plans = byteCache<ExecutionPlan>(
    'executionPlans',
    ({ operation, fields, nodes }) => operation.document.bytes + fields * FIELD_BYTES + nodes * NODE_BYTES,
  );

  constructor(schema: GraphQLSchema, report: ErrorReporter) {
    this.#schema = schema;
    this.#report = report;
  }

  /**
   * @param variables coerced
   * @throws as `select`
   */
  planOf(operation: Operation, variables: Variables): ExecutionPlan {
    const { node, number, booleans } = operation;
    let key = String(number);
    for (const name of booleans) key += variables[name] == null ? '?' : variables[name] === true ? '+' : '-';
    const cached = this.#plans.get(key);
    if (cached) return cached;
    const selected = select(this.#schema, operation, variables);
    const { selection } = selected;
    const isMutation = node.operation === 'mutation';
    const parts = isMutation ? partsOf(selection) : [selection];
    const names = selection.map(({ definition }) => definition.name).filter((name) => !name.startsWith('__'));
    const plan: ExecutionPlan = {
      operation,
      schema: isMutation ? ofMutations(this.#schema) : this.#schema,
      ...selected,
      rootFields: [...new Set(names)],
      writes: isMutation ? selection.filter(isWriting) : [],
      documents: parts.map((part) => flatDocument(node, part)),
      uses: 0,
    };
    this.#plans.set(key, plan);
    return plan;
  }

  /** @returns code for each part, equivalent to graphql-js; null to interpret instead */
  codeFor(plan: ExecutionPlan, variables: Variables): readonly CompiledQuery[] | null {
    plan.uses++;
    if (plan.uses < MIN_USES_TO_COMPILE || plan.fields > MAX_COMPILED_FIELDS) return null;
    const { parts, nested } = this.codeOf(plan);
    return nested.some((name) => variables[name] == null) ? null : parts;
  }

  /** The code of a plan, which is compiled the first time. */
  codeOf(plan: ExecutionPlan): Code {
    const { operation, schema, documents } = plan;
    if (plan.code) return plan.code;
    const parts = UNCOMPILED_NAMES.test(operation.document.text)
      ? [null]
      : documents.map((each) => this.compile(schema, each));
    plan.code = {
      parts: parts.every((part) => part !== null) ? parts : null,
      nested: documents.flatMap(nestedVariables),
    };
    return plan.code;
  }

  /** @param document as a plan has it */
  compile(schema: GraphQLSchema, document: DocumentNode): CompiledQuery | null {
    const compiled = compileQuery(schema, document, '', {
      disableLeafSerialization: true,
      disablingCapturingStackErrors: true,
    });
    if (isCompiledQuery(compiled)) return compiled;
    this.#report(new Error('An operation could not be compiled', { cause: compiled.errors }));
    return null;
  }
}

/**
 * A schema whose queries are the mutations of this one. Part of a mutation has one field that writes, and a query takes
 * graphql-jit 4 µs less than a mutation.
 */
const ofMutations = memoized(
  (schema: GraphQLSchema) =>
    new GraphQLSchema({
      ...schema.toConfig(),
      query: schema.getMutationType()!,
      mutation: null,
      subscription: null,
    }),
);

/** graphql-jit mistakes the properties of Object.prototype for fields. */
const UNCOMPILED_NAMES = new RegExp(`\\b(?:${Object.getOwnPropertyNames(Object.prototype).join('|')})\\b`);

function nestedVariables(document: DocumentNode): string[] {
  const names: string[] = [];
  visit(document, {
    VariableDefinition: () => false,
    Argument: ({ value }) => (value.kind === Kind.LIST || value.kind === Kind.OBJECT ? undefined : false),
    Variable: ({ name }) => void names.push(name.value),
  });
  return names;
}

/**
 * Writes part of an operation, or all of it, without fragments and directives, for coerced variables. graphql-jit misbehaves if a field
 * is selected in several places, or if selections with one response key are skipped independently.
 */
function flatDocument(node: OperationDefinitionNode, selection: Selection): DocumentNode {
  const operation = node.operation === 'mutation' ? OperationTypeNode.QUERY : node.operation;
  const variableDefinitions = coercedDefinitions(node);
  return {
    kind: Kind.DOCUMENT,
    definitions: [
      {
        kind: Kind.OPERATION_DEFINITION,
        operation,
        variableDefinitions,
        selectionSet: selectionSet(selection),
      },
    ],
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
  // The type of an object behind an interface cannot be told from its selected fields.
  return isObjectType(type) ? objectOf(subselections.get(type)!.map(property)) : writeAny;
}
