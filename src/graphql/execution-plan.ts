import type { GraphQLSchema } from 'graphql';
import type { CompiledQuery } from 'graphql-jit';
import type { Cost } from './cost.ts';
import type { Documents, Operation } from './documents.ts';
import { conditionVariables, type SelectedOperation, select } from './selection.ts';
import { OperationVariables, type Variables } from './variables.ts';

/** Measured: bytes of heap for one field of a selection. */
const BYTES_PER_FIELD = 300;

/** An operation with its directives decided, and what is found out about it as it is used. */
export interface ExecutionPlan {
  readonly operation: Operation;
  readonly selected: SelectedOperation;
  uses: number;
  /** Where it doesn't depend on variables. */
  cost?: Cost;
  /** The data where only the schema is asked for and no variable has a say; null where something else is asked for too. */
  schemaData?: Record<string, unknown> | null;
  /** What compiled code needs to be right; null where it never is. */
  requiredVariables?: readonly string[] | null;
  /** Null where there is to be none. */
  code?: CompiledQuery | null;
}

interface PlannedOperation {
  readonly variables: OperationVariables;
  readonly conditions: readonly string[];
  readonly plans: Map<string, ExecutionPlan>;
}

/** Plans of the operations of documents, kept as long as these and within the room that they have. */
export class ExecutionPlans {
  readonly #schema: GraphQLSchema;
  readonly #documents: Documents;
  readonly #suggest: boolean;
  readonly #operations = new WeakMap<Operation, PlannedOperation>();

  /** @param options `suggest: false` tells clients nothing of the schema */
  constructor(schema: GraphQLSchema, documents: Documents, { suggest }: { suggest: boolean }) {
    this.#schema = schema;
    this.#documents = documents;
    this.#suggest = suggest;
  }

  /** @throws VALIDATION_FAILED naming what is wrong */
  coerce(operation: Operation, inputs: Variables): Variables {
    return this.#planned(operation).variables.coerce(inputs);
  }

  /**
   * @param variables coerced
   * @throws QUERY_TOO_COMPLEX for what is too deep or too large to look at
   */
  planOf(operation: Operation, variables: Variables): ExecutionPlan {
    const { conditions, plans } = this.#planned(operation);
    const decided = conditions.map((name) => (variables[name] === true ? '1' : '0')).join('');
    const known = plans.get(decided);
    if (known) return known;
    const selected = select(this.#schema, operation.document.ast, operation.node, variables);
    const isKept = this.#documents.reserve(operation.document, selected.fields * BYTES_PER_FIELD);
    // The first plan that is kept is mostly that of the use before, when the document wasn't kept yet.
    const plan: ExecutionPlan = { operation, selected, uses: isKept && plans.size === 0 ? 1 : 0 };
    if (isKept) plans.set(decided, plan);
    return plan;
  }

  #planned(operation: Operation): PlannedOperation {
    let planned = this.#operations.get(operation);
    if (!planned) {
      const { document, node } = operation;
      planned = {
        variables: new OperationVariables(this.#schema, document.ast, node, { suggest: this.#suggest }),
        conditions: conditionVariables(document.ast, node),
        plans: new Map(),
      };
      this.#operations.set(operation, planned);
    }
    return planned;
  }
}
