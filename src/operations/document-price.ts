import {
  type DocumentNode,
  type GraphQLSchema,
  getNullableType,
  isListType,
  Kind,
  type OperationDefinitionNode,
  parse,
  typeFromAST,
} from 'graphql';
import { AppError } from '../foundation/errors.ts';
import { MAX_PAGE_SIZE } from '../kit/connection.ts';
import { CostModel } from './cost.ts';
import { Documents } from './documents.ts';
import { selectEverything } from './selection.ts';

/** What is known of a document before any request names it. */
export interface DocumentSummary {
  /** The names of its operations. */
  operations: string;
  /** Units of its dearest operation, with the dearest variables. */
  price: number;
}

/** Checks documents against the schema and computes the most they can cost. */
export class DocumentPrices {
  readonly #schema: GraphQLSchema;
  readonly #documents: Documents;
  readonly #costs: CostModel;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
    this.#documents = new Documents(schema, { introspection: true });
    this.#costs = new CostModel(schema);
  }

  /** @returns a summary of the document, or why it cannot run */
  summarize(text: string): DocumentSummary | { fault: string } {
    const read = this.#documents.read(text);
    if (read.refusal) return { fault: read.refusal.errors.map(({ message }) => message).join(' ') };
    const ast = parse(text);
    const operations = ast.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
    try {
      const prices = operations.map((operation) => this.#priceOf(ast, operation));
      const names = operations.map(({ name, operation }) => name?.value ?? operation);
      return { operations: names.join(', '), price: Math.max(...prices) };
    } catch (error) {
      if (error instanceof AppError) return { fault: error.message };
      throw error;
    }
  }

  /** @throws QUERY_TOO_COMPLEX */
  #priceOf(document: DocumentNode, operation: OperationDefinitionNode): number {
    const selection = selectEverything(this.#schema, document, operation);
    const root = this.#schema.getRootType(operation.operation)!;
    const variables = Object.fromEntries(
      (operation.variableDefinitions ?? []).map(({ variable, type }) => [
        variable.name.value,
        this.#largest(type as never),
      ]),
    );
    return this.#costs.costOf({ root, selection, fields: 0 }, operation.operation, variables).units;
  }

  /** The value of a variable that makes lists longest. */
  #largest(node: Parameters<typeof typeFromAST>[1]): unknown {
    const type = typeFromAST(this.#schema, node as never);
    const nullable = type && getNullableType(type);
    if (isListType(nullable)) return new Array(MAX_PAGE_SIZE).fill(null);
    // The size of a list assumes the maximum for any value of an unexpected type.
    return String(nullable) === 'Int' ? MAX_PAGE_SIZE : {};
  }
}
