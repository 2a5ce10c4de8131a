import {
  type DocumentNode,
  type FieldNode,
  getNamedType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Documents, ValidDocument } from './documents.ts';
import type { ErrorReporter } from './execute.ts';
import type { ExecutionPlan } from './execution-plan.ts';
import { asQuery, type ExecutionSchemas } from './mutation.ts';
import type { SelectedField, Selection } from './selection.ts';

/** Compiling pays off from the second use on, so one-off operations are never compiled. */
const MIN_USES_TO_COMPILE = 2;
/**
 * Larger operations are interpreted: compiling them would block the event loop for tens of milliseconds. A unit pays for
 * fewer: 280 fields can take 24 times as long as a page over REST.
 */
const MAX_COMPILED_FIELDS = 300;
const COMPILED_FIELDS_PER_UNIT = 80;
/** Measured: heap bytes of the code for one field. */
const BYTES_PER_COMPILED_FIELD = 4_000;

/** Compiles operations that are used repeatedly. */
export class Compiler {
  readonly #schemas: ExecutionSchemas;
  readonly #documents: Documents;
  readonly #report: ErrorReporter;

  constructor(schemas: ExecutionSchemas, documents: Documents, report: ErrorReporter) {
    this.#schemas = schemas;
    this.#documents = documents;
    this.#report = report;
  }

  /**
   * @param units that are paid each time
   * @returns code for each part, equivalent to graphql-js; null to interpret instead
   */
  codeFor(plan: ExecutionPlan, units: number): readonly CompiledQuery[] | null {
    plan.uses++;
    if (plan.uses < MIN_USES_TO_COMPILE || plan.selected.fields > COMPILED_FIELDS_PER_UNIT * units)
      return null;
    if (plan.code === undefined) {
      const { operation, selected, parts } = plan;
      const hasRoom =
        selected.fields <= MAX_COMPILED_FIELDS &&
        canCompile(operation.document) &&
        this.#documents.reserve(operation.document, selected.fields * BYTES_PER_COMPILED_FIELD);
      const code = hasRoom ? parts.map((part) => this.compile(operation.node, part)) : [null];
      plan.code = code.every((part) => part !== null) ? code : null;
    }
    return plan.code;
  }

  compile(node: OperationDefinitionNode, selection: Selection): CompiledQuery | null {
    const compiled = compileQuery(
      this.#schemas[node.operation],
      flatDocument(node, selection),
      node.name?.value ?? '',
      { disableLeafSerialization: true, disablingCapturingStackErrors: true },
    );
    if (isCompiledQuery(compiled)) return compiled;
    this.#report(new Error('An operation could not be compiled', { cause: compiled.errors }));
    return null;
  }
}

/**
 * Writes part of an operation, or all of it, without fragments and directives. graphql-jit misbehaves if a field
 * is selected in several places, or if selections with one response key are skipped independently.
 */
export function flatDocument(node: OperationDefinitionNode, selection: Selection): DocumentNode {
  const { directives: _decided, ...operation } = asQuery(node);
  return {
    kind: Kind.DOCUMENT,
    definitions: [{ ...operation, selectionSet: selectionSet(selection) }],
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

/** Whether graphql-jit behaves like graphql-js. It mistakes the properties of Object.prototype for fields. */
function canCompile({ ast }: ValidDocument): boolean {
  let isOrdinary = true;
  visit(ast, {
    Name: ({ value }) => {
      if (value in Object.prototype) isOrdinary = false;
    },
  });
  return isOrdinary;
}
