import { type DocumentNode, type GraphQLSchema, Kind, visit } from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import { LRUCache } from 'lru-cache';
import type { ExecutionSchemas } from './mutation.ts';
import type { Plan } from './plan.ts';
import type { ErrorReporter } from './result.ts';
import type { Variables } from './variables.ts';

/** Compiling pays off from the second use on, so one-off operations are never compiled. */
const MIN_USES_TO_COMPILE = 2;
/** Larger operations are interpreted: compiling them would block the event loop for tens of milliseconds. */
const MAX_COMPILED_FIELDS = 300;
/** Fields of all code that is kept, each of which takes about 4 kB of the heap. */
const MAX_KEPT_FIELDS = 10_000;

interface Code {
  /** Of each part; null if the operation is not to be compiled. */
  readonly parts: readonly CompiledQuery[] | null;
  /** Variables in list and object literals, which graphql-jit takes for null if they have no value. */
  readonly nested: readonly string[];
}

/** Compiles operations that are used repeatedly. */
export class Compiler {
  readonly #schemas: ExecutionSchemas;
  readonly #report: ErrorReporter;
  readonly #code = new LRUCache<Plan, Code>({
    maxSize: MAX_KEPT_FIELDS,
    sizeCalculation: (_, { selected }) => selected.fields,
  });

  constructor(schemas: ExecutionSchemas, report: ErrorReporter) {
    this.#schemas = schemas;
    this.#report = report;
  }

  /** @returns code for each part, equivalent to graphql-js; null to interpret instead */
  codeFor(plan: Plan, variables: Variables): readonly CompiledQuery[] | null {
    plan.uses++;
    if (plan.uses < MIN_USES_TO_COMPILE || plan.selected.fields > MAX_COMPILED_FIELDS) return null;
    let code = this.#code.get(plan);
    if (!code) {
      const { operation, documents } = plan;
      const { node } = operation;
      const parts = UNCOMPILED_NAMES.test(operation.document.text)
        ? [null]
        : documents.map((document) => this.compile(this.#schemas[node.operation], document));
      code = {
        parts: parts.every((part) => part !== null) ? parts : null,
        nested: documents.flatMap(nestedVariables),
      };
      this.#code.set(plan, code);
    }
    return code.nested.some((name) => variables[name] == null) ? null : code.parts;
  }

  /** @param document as `flatDocument` writes it */
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
