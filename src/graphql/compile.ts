import { type DocumentNode, type ListValueNode, type ObjectValueNode, visit } from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Operation } from './documents.ts';
import type { FaultReporter } from './execute.ts';
import { toJson } from './json.ts';
import type { Variables } from './variables.ts';

/** Compiling pays from the second use on; one that comes once never costs it. */
const USES_TO_COMPILE = 2;
/** An operation of more is interpreted: compiling it would hold up everybody else for tens of milliseconds. */
const MOST_COMPILED_FIELDS = 300;

/** What is known of the compiled code of one operation. */
export interface Compilation {
  uses: number;
  /** What compiled code needs to be right; null where it never is. */
  needs?: readonly string[] | null;
  /** Null where there can't be any. */
  code?: CompiledQuery | null;
}

/** Makes code of operations that are used again. */
export class Compiler {
  readonly #report: FaultReporter;

  constructor(report: FaultReporter) {
    this.#report = report;
  }

  /** @returns code that does with these variables what graphql-js does, or null: then interpret */
  codeFor(operation: Operation, variables: Variables): CompiledQuery | null {
    if (!isFitForCompiling(operation, variables)) return null;
    const { compilation, fields } = operation;
    if (compilation.code !== undefined) return compilation.code;
    if (compilation.uses < USES_TO_COMPILE || fields > MOST_COMPILED_FIELDS) return null;
    compilation.code = this.compile(operation, { stringify: true });
    return compilation.code;
  }

  /** @param options `stringify`: whether results are answers as they are, so that writing them as JSON should be fast too */
  compile(
    { schema, document, node }: Operation,
    { stringify }: { stringify: boolean },
  ): CompiledQuery | null {
    const compile = (customJSONSerializer: boolean) =>
      compileQuery(schema, document, node.name?.value ?? '', {
        disableLeafSerialization: true,
        disablingCapturingStackErrors: true,
        customJSONSerializer,
      });
    let compiled = compile(stringify);
    if (isCompiledQuery(compiled)) return compiled;
    // It can't write scalars of our own as JSON.
    if (stringify) compiled = compile(false);
    if (isCompiledQuery(compiled)) return { ...compiled, stringify: toJson };
    this.#report(new Error('An operation could not be compiled', { cause: compiled.errors }));
    return null;
  }
}

/**
 * Whether graphql-jit does what graphql-js does. It takes a missing variable within a literal for null (so that
 * `{description: $none}` would remove the description) and names that every object has for its own.
 */
function isFitForCompiling({ document, compilation }: Operation, variables: Variables): boolean {
  if (compilation.needs === undefined) compilation.needs = neededVariables(document);
  return compilation.needs?.every((name) => Object.hasOwn(variables, name)) ?? false;
}

/** The variables in literals; null where compiled code can't be right. */
function neededVariables(document: DocumentNode) {
  const names = new Set<string>();
  let isOrdinary = true;
  const look = (literal: ListValueNode | ObjectValueNode) =>
    void visit(literal, { Variable: ({ name }) => void names.add(name.value) });
  visit(document, {
    Name: ({ value }) => {
      if (value in Object.prototype) isOrdinary = false;
    },
    ListValue: look,
    ObjectValue: look,
  });
  return isOrdinary ? [...names] : null;
}
