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

/** The estimated size of a compiled plan besides its document, in bytes: per field, and per node of a field. */
const FIELD_BYTES = 4_000;
const NODE_BYTES = 300;
/** Compiling pays off from the second use. */
const MIN_USES_TO_COMPILE = 2;
/** Larger operations are interpreted: compiling them would block the event loop for tens of milliseconds. */
const MAX_COMPILED_FIELDS = 300;

/** An operation with @skip and @include resolved, and everything derived from it on use. */
export interface ExecutionPlan {
  readonly operation: Operation;
  /** The schema to execute its documents against. */
  readonly schema: GraphQLSchema;
  readonly selection: Selection;
  /** The number of fields on all levels, and of the nodes that select them. */
  readonly fields: number;
  readonly nodes: number;
  /** The names of the root fields, without meta fields. */
  readonly rootFields: readonly string[];
  /** The root fields that write. */
  readonly writes: readonly SelectedField[];
  /**
   * The documents to execute one after another, without fragments and directives: one for each root field that writes.
   */
  readonly documents: readonly DocumentNode[];
  /** The number of runs. */
  uses: number;
  /** Set after the first attempt to compile. */
  compiled?: CompiledOperation;
  /** Set if the price is constant. */
  price?: Price;
  /** Writes results as JSON. Set when the first result of compiled code is written. */
  write?: WriteJson;
}

interface CompiledOperation {
  /** The code of each part; null if the operation can't be compiled. */
  readonly parts: readonly CompiledQuery[] | null;
  /** Variables in list and object literals. graphql-jit takes those without a value for null. */
  readonly nested: readonly string[];
}

/** Caches the plans of operations, and compiles those that are used repeatedly. */
export class ExecutionPlans {
  readonly #schema: GraphQLSchema;
  readonly #report: ErrorReporter;
  // Includes the document, which the plan keeps in memory even if it has left the document cache.
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
   * @throws like `select`
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
  compiledFor(plan: ExecutionPlan, variables: Variables): readonly CompiledQuery[] | null {
    plan.uses++;
    if (plan.uses < MIN_USES_TO_COMPILE || plan.fields > MAX_COMPILED_FIELDS) return null;
    const { parts, nested } = this.compiledOf(plan);
    return nested.some((name) => variables[name] == null) ? null : parts;
  }

  /** The code of a plan, compiled the first time. */
  compiledOf(plan: ExecutionPlan): CompiledOperation {
    const { operation, schema, documents } = plan;
    if (plan.compiled) return plan.compiled;
    const parts = UNCOMPILED_NAMES.test(operation.document.text)
      ? [null]
      : documents.map((each) => this.compile(schema, each));
    plan.compiled = {
      parts: parts.every((part) => part !== null) ? parts : null,
      nested: documents.flatMap(nestedVariables),
    };
    return plan.compiled;
  }

  /** @param document a document of a plan */
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
 * A schema whose queries are the mutations of this one: a part of a mutation has only one field that writes, and
 * graphql-jit runs a query 4 µs faster than a mutation.
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

/** Names that graphql-jit mistakes for fields: the properties of Object.prototype. */
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
 * Creates the document of a part of an operation, without fragments and directives, for coerced variables. graphql-jit
 * fails if a field is selected in several places, or if selections of one response key are skipped independently.
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

/** The nodes of a field. The first has the merged selection; the others are for the locations of errors. */
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

/** Creates a writer of results without errors, `{ data }`, as JSON. */
export const resultWriter = (selection: Selection): WriteJson =>
  objectOf([{ name: 'data', write: objectOf(selection.map(property)) }]);

const property = ({ key, definition, subselections }: SelectedField): Property => ({
  name: key,
  write: writerOf(definition.type, subselections),
});

function writerOf(type: GraphQLOutputType, subselections: SelectedField['subselections']): WriteJson {
  if (isNonNullType(type)) return writerOf(type.ofType, subselections);
  if (isListType(type)) return listOf(writerOf(type.ofType, subselections));
  // The selected fields don't determine the type of an object behind an interface.
  return isObjectType(type) ? objectOf(subselections.get(type)!.map(property)) : writeAny;
}
