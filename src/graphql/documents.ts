import {
  type ArgumentNode,
  type DocumentNode,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  Kind,
  Lexer,
  NoSchemaIntrospectionCustomRule,
  type ObjectFieldNode,
  type OperationDefinitionNode,
  parse,
  type SelectionSetNode,
  Source,
  specifiedRules,
  TokenKind,
  type ValidationRule,
  type VariableDefinitionNode,
  validate,
  visit,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { AppError } from '../errors.ts';
import type { Compilation } from './compile.ts';
import { Int64IdsRule, opaqueVariables } from './id-scalar.ts';
import { asQueries, mutationSchema } from './mutation.ts';
import type { Price } from './price.ts';
import { OperationRefused, publicError, refused } from './refusal.ts';

/** More tokens than any honest operation has, and few enough to parse and validate in milliseconds. */
const MOST_TOKENS = 2_000;
/** Brackets within brackets: far more than pricing allows, far less than exhausts the stack of parser and rules. */
const DEEPEST_SYNTAX = 200;
const MOST_DOCUMENTS = 1_000;
const MOST_CACHED_CHARACTERS = 4_000_000;
/** An operation of more fields, with every spread of a fragment counted, is refused: no code that expands it may hang. */
const MOST_EXPANDED_FIELDS = 10_000;

/** An operation of a valid document, with what is found out about it as it is used. */
export interface Operation {
  /** The document as it is executed, in `schema`. */
  readonly document: DocumentNode;
  readonly schema: GraphQLSchema;
  readonly node: OperationDefinitionNode;
  /** Fields, with every spread of a fragment counted. */
  readonly fields: number;
  /** Variables whose ids need not be int64. */
  readonly opaque: ReadonlySet<string>;
  /** Its price where that does not depend on variables. */
  price?: Price;
  readonly compilation: Compilation;
}

/** A document that was read: its operations by name, or why none of them can run. */
export type ReadDocument =
  | { refusal: OperationRefused; operations?: undefined; only?: undefined }
  | {
      operations: Map<string, Operation>;
      /** The operation to run where none is named: the only one there is. */
      only: Operation | undefined;
      refusal?: undefined;
    };

/** Documents parsed, checked and kept, in a cache that is bounded by entries and by characters. */
export class Documents {
  readonly #schema: GraphQLSchema;
  readonly #mutationSchema: GraphQLSchema;
  readonly #suggest: boolean;
  readonly #rules: readonly ValidationRule[];
  readonly #cache = new LRUCache<string, ReadDocument>({
    max: MOST_DOCUMENTS,
    maxSize: MOST_CACHED_CHARACTERS,
    sizeCalculation: (_document, text) => text.length + 1,
  });

  /** @param options `introspection: false` tells clients nothing of the schema: no introspection, no "Did you mean" */
  constructor(schema: GraphQLSchema, { introspection }: { introspection: boolean }) {
    this.#schema = schema;
    this.#mutationSchema = mutationSchema(schema);
    this.#suggest = introspection;
    const rules = [...specifiedRules, Int64IdsRule];
    this.#rules = introspection ? rules : [...rules, NoSchemaIntrospectionCustomRule];
  }

  /** Reads a document, or finds it read. */
  get(text: string): ReadDocument {
    let read = this.#cache.get(text);
    if (!read) {
      read = this.read(text);
      this.#cache.set(text, read);
    }
    return read;
  }

  /** Parses and validates a document without keeping it. */
  read(text: string): ReadDocument {
    let document: DocumentNode;
    try {
      checkNesting(text);
      document = parse(text, { maxTokens: MOST_TOKENS });
    } catch (error) {
      if (error instanceof AppError) return { refusal: new OperationRefused([publicError(error)]) };
      if (!(error instanceof GraphQLError)) throw error;
      const code = error.message.includes('Parsing aborted') ? 'QUERY_TOO_COMPLEX' : 'GRAPHQL_PARSE_FAILED';
      return { refusal: new OperationRefused([publicError(error, code)]) };
    }
    const errors = validate(this.#schema, document, this.#rules, { hideSuggestions: !this.#suggest });
    if (errors.length > 0) {
      return {
        refusal: new OperationRefused(errors.map((error) => validationError(document, error))),
      };
    }
    const operations = new Map<string, Operation>();
    const countFields = fieldCounter(document);
    for (const node of document.definitions) {
      if (node.kind !== Kind.OPERATION_DEFINITION) continue;
      const fields = countFields(node.selectionSet);
      if (fields > MOST_EXPANDED_FIELDS) {
        const message = `The operation selects more than ${MOST_EXPANDED_FIELDS} fields.`;
        return { refusal: refused('QUERY_TOO_COMPLEX', message) };
      }
      const opaque = opaqueVariables(this.#schema, document, node);
      operations.set(node.name?.value ?? '', {
        ...(node.operation === 'mutation'
          ? { schema: this.#mutationSchema, document: asQueries(document) }
          : { schema: this.#schema, document }),
        node,
        fields,
        opaque,
        compilation: { uses: 0 },
      });
    }
    const [only] = operations.size === 1 ? operations.values() : [];
    return { operations, only };
  }
}

/** @throws QUERY_TOO_COMPLEX */
function checkNesting(text: string): void {
  // Most texts can't be that deep, whatever is in them.
  if ((text.match(/[{[(]/g)?.length ?? 0) <= DEEPEST_SYNTAX) return;
  const lexer = new Lexer(new Source(text));
  let depth = 0;
  for (let count = 0; count <= MOST_TOKENS; count++) {
    const { kind } = lexer.advance();
    if (kind === TokenKind.EOF) return;
    if (kind === TokenKind.BRACE_L || kind === TokenKind.BRACKET_L || kind === TokenKind.PAREN_L) depth++;
    else if (kind === TokenKind.BRACE_R || kind === TokenKind.BRACKET_R || kind === TokenKind.PAREN_R)
      depth--;
    if (depth > DEEPEST_SYNTAX) {
      throw new AppError(
        'QUERY_TOO_COMPLEX',
        `The operation has more than ${DEEPEST_SYNTAX} brackets open at once.`,
      );
    }
  }
}

/** Counts the fields of a selection with its fragments expanded, looking at each fragment once. */
function fieldCounter(document: DocumentNode): (set: SelectionSetNode) => number {
  const fragments = new Map<string, SelectionSetNode>();
  for (const node of document.definitions) {
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node.selectionSet);
  }
  const counts = new Map<SelectionSetNode, number>();
  const count = (set: SelectionSetNode | undefined): number => {
    if (!set) return 0;
    let fields = counts.get(set);
    if (fields === undefined) {
      fields = 0;
      for (const selection of set.selections) {
        if (selection.kind === Kind.FIELD) fields += 1 + count(selection.selectionSet);
        else if (selection.kind === Kind.INLINE_FRAGMENT) fields += count(selection.selectionSet);
        else fields += count(fragments.get(selection.name.value));
      }
      counts.set(set, fields);
    }
    return fields;
  };
  return count;
}

/** An error of validation; where a scalar refuses a value, its message names the argument or field, as rules do. */
function validationError(document: DocumentNode, error: GraphQLError): GraphQLFormattedError {
  const formatted = publicError(error, 'GRAPHQL_VALIDATION_FAILED');
  if (formatted.extensions?.code !== 'VALIDATION_FAILED') return formatted;
  let name = 'value';
  const look = (node: ArgumentNode | ObjectFieldNode | VariableDefinitionNode, found: string) => {
    const value = node.kind === Kind.VARIABLE_DEFINITION ? node.defaultValue : node.value;
    const values = value?.kind === Kind.LIST ? value.values : [value];
    if (error.nodes?.some((faulty) => values.includes(faulty as never))) name = found;
  };
  visit(document, {
    Argument: (node) => look(node, node.name.value),
    ObjectField: (node) => look(node, node.name.value),
    VariableDefinition: (node) => look(node, node.variable.name.value),
  });
  return { ...formatted, message: `${name}: ${error.message}.` };
}
