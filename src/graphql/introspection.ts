import {
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getIntrospectionQuery,
  Kind,
  parse,
} from 'graphql';
import { tooComplex } from './refusal.ts';
import { type SelectedField, type Selection, select } from './selection.ts';
import type { Variables } from './variables.ts';

/** How much more than the fullest query of the usual tools an introspection may ask for. */
const ALLOWANCE = 1.5;

/** Bounds what may be asked of the schema: its answer is the same for everybody, so it is counted exactly. */
export class Introspection {
  readonly #schema: GraphQLSchema;
  #mostFields: number | undefined;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /**
   * @param field a `__schema` or `__type` of the root
   * @throws QUERY_TOO_COMPLEX if its answer has far more fields than that to the query of GraphiQL or a code generator
   */
  check(field: SelectedField, variables: Variables): void {
    this.#mostFields ??= ALLOWANCE * this.#fieldsOfFullQuery();
    new Counter(this.#schema, variables, this.#mostFields).field(field, undefined);
  }

  #fieldsOfFullQuery(): number {
    const document = parse(
      getIntrospectionQuery({
        descriptions: true,
        specifiedByUrl: true,
        directiveIsRepeatable: true,
        schemaDescription: true,
        inputValueDeprecation: true,
        oneOf: true,
      }),
    );
    const operation = document.definitions.find((node) => node.kind === Kind.OPERATION_DEFINITION)!;
    const counter = new Counter(this.#schema, {}, Number.POSITIVE_INFINITY);
    for (const field of select(this.#schema, document, operation, {}).selection)
      counter.field(field, undefined);
    return counter.fields;
  }
}

/** Counts the fields in the answer to an introspection without making it. */
class Counter {
  fields = 0;
  readonly #variables: Variables;
  readonly #most: number;
  readonly #info: GraphQLResolveInfo;
  /** The fields below an object, which is the same for everything that refers to it. */
  readonly #known = new Map<Selection, Map<unknown, number>>();

  constructor(schema: GraphQLSchema, variables: Variables, most: number) {
    this.#variables = variables;
    this.#most = most;
    // All that the resolvers of meta fields look at.
    this.#info = { schema } as GraphQLResolveInfo;
  }

  field({ definition, nodes, below }: SelectedField, parent: unknown): void {
    this.#add(1);
    // The type's name, which needs no resolving.
    if (below.size === 0) return;
    const args = getArgumentValues(definition, nodes[0], this.#variables);
    const found = definition.resolve!(parent, args, undefined, this.#info);
    const [[type, selection]] = [...below] as [[GraphQLObjectType, Selection]];
    if (type) for (const object of Array.isArray(found) ? found : [found]) this.#object(selection, object);
  }

  #object(selection: Selection, object: unknown): void {
    if (object == null) return;
    const known = this.#known.get(selection) ?? new Map<unknown, number>();
    this.#known.set(selection, known);
    const fields = known.get(object);
    if (fields !== undefined) {
      this.#add(fields);
      return;
    }
    const before = this.fields;
    for (const field of selection) this.field(field, object);
    known.set(object, this.fields - before);
  }

  #add(fields: number): void {
    this.fields += fields;
    if (this.fields > this.#most)
      throw tooComplex(
        `asks for more than ${Math.floor(this.#most).toLocaleString('en-US')} fields of the schema`,
      );
  }
}
