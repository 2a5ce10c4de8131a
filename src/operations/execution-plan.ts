import type { GraphQLSchema } from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import type { WriteJson } from '../kit/json-writer.ts';
import { SelectedArguments } from './arguments.ts';
import type { Cost } from './cost.ts';
import type { Documents, Operation } from './documents.ts';
import { partsOf } from './mutation.ts';
import { conditionVariables, type SelectedOperation, type Selection, select } from './selection.ts';
import { OperationVariables, type Variables } from './variables.ts';

/** Measured: heap bytes per field of a selection. */
const BYTES_PER_FIELD = 300;

/** An operation with its @skip and @include directives resolved, and what is derived from it on use. */
export interface ExecutionPlan {
  readonly operation: Operation;
  readonly selected: SelectedOperation;
  /** The names of its root fields, without meta fields. */
  readonly rootFields: readonly string[];
  /** The selections to execute one after the other: several for a mutation with several writing fields. */
  readonly parts: readonly Selection[];
  readonly arguments: SelectedArguments;
  uses: number;
  /** Set if it does not depend on variables. */
  cost?: Cost;
  /** The result if only the schema is queried and no variable affects it; null if anything else is queried. */
  schemaData?: Record<string, unknown> | null;
  /** The code of each part; null if the operation is not to be compiled. */
  code?: readonly CompiledQuery[] | null;
  /** Writes its results as JSON. Set when one is written that compiled code made. */
  write?: WriteJson;
}

interface PlannedOperation {
  readonly variables: OperationVariables;
  readonly conditions: readonly string[];
  readonly plans: Map<string, ExecutionPlan>;
}

/** Creates execution plans and caches them with their documents, within the space reserved there. */
export class ExecutionPlans {
  readonly #schema: GraphQLSchema;
  readonly #documents: Documents;
  readonly #suggest: boolean;
  readonly #operations = new WeakMap<Operation, PlannedOperation>();

  /** @param options `suggest: false` hides the schema */
  constructor(schema: GraphQLSchema, documents: Documents, { suggest }: { suggest: boolean }) {
    this.#schema = schema;
    this.#documents = documents;
    this.#suggest = suggest;
  }

  /** @throws VALIDATION_FAILED listing all issues */
  coerce(operation: Operation, inputs: Variables): Variables {
    return this.#planned(operation).variables.coerce(inputs);
  }

  /**
   * @param variables coerced
   * @throws QUERY_TOO_COMPLEX if the operation is too deep or too large
   */
  planOf(operation: Operation, variables: Variables): ExecutionPlan {
    const { conditions, plans } = this.#planned(operation);
    const decided = conditions.map((name) => (variables[name] === true ? '1' : '0')).join('');
    const known = plans.get(decided);
    if (known) return known;
    const selected = select(this.#schema, operation.document.ast, operation.node, variables);
    const isKept = this.#documents.reserve(operation.document, selected.fields * BYTES_PER_FIELD);
    // The document was used once before it was cached, most likely with the same plan.
    const parts =
      operation.node.operation === 'mutation' ? partsOf(selected.selection) : [selected.selection];
    const plan: ExecutionPlan = {
      operation,
      selected,
      rootFields: rootFieldsOf(selected),
      parts,
      arguments: new SelectedArguments(selected.selection, operation),
      uses: isKept && plans.size === 0 ? 1 : 0,
    };
    if (isKept) plans.set(decided, plan);
    return plan;
  }

  #planned(operation: Operation): PlannedOperation {
    let planned = this.#operations.get(operation);
    if (!planned) {
      const { document, source } = operation;
      planned = {
        variables: new OperationVariables(this.#schema, document, source, { suggest: this.#suggest }),
        conditions: conditionVariables(document.source, source),
        plans: new Map(),
      };
      this.#operations.set(operation, planned);
    }
    return planned;
  }
}

const rootFieldsOf = ({ selection }: SelectedOperation): string[] => [
  ...new Set(selection.map(({ definition }) => definition.name).filter((name) => !name.startsWith('__'))),
];
