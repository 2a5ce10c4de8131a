import {
  type GraphQLLeafType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getIntrospectionQuery,
  getNamedType,
  Kind,
  parse,
  TypeNameMetaFieldDef,
} from 'graphql';
import { tooComplex } from './refusal.ts';
import { type SelectedField, type Selection, select } from './selection.ts';
import type { Variables } from './variables.ts';

/** How much larger than the introspection of common tools a query may be. */
const MAX_RATIO = 1.5;

/** Whether a root field queries the schema. */
export const isSchemaField = ({ definition: { name } }: SelectedField): boolean =>
  name === '__schema' || name === '__type';

/**
 * Resolves introspection. The schema is the same for everyone and repeats itself, so caching takes a fraction
 * of the time of execution. The size of the result is limited while it is built.
 */
export class Introspection {
  readonly #schema: GraphQLSchema;
  #mostFields: number | undefined;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /**
   * @returns the data if the operation queries nothing but the schema; undefined otherwise
   * @throws QUERY_TOO_COMPLEX if the result is far larger than what GraphiQL or code generators need
   */
  resolve(selection: Selection, variables: Variables): Record<string, unknown> | undefined {
    this.#mostFields ??= MAX_RATIO * this.#fieldsOfFullQuery();
    const data: Record<string, unknown> = Object.create(null);
    let isWhole = true;
    for (const field of selection) {
      if (isSchemaField(field)) {
        data[field.key] = new RootFieldResult(this.#schema, variables, this.#mostFields).field(
          field,
          undefined,
        );
      } else if (field.definition === TypeNameMetaFieldDef) data[field.key] = field.parent.name;
      else isWhole = false;
    }
    return isWhole ? data : undefined;
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
    const result = new RootFieldResult(this.#schema, {}, Number.POSITIVE_INFINITY);
    for (const field of select(this.#schema, document, operation, {}).selection)
      result.field(field, undefined);
    return result.fields;
  }
}

/** Resolves one root field. */
class RootFieldResult {
  /** Fields in the result, counting repeated objects each time. */
  fields = 0;
  readonly #variables: Variables;
  readonly #max: number;
  readonly #info: GraphQLResolveInfo;
  /** Results by object, shared wherever the same selection applies. */
  readonly #known = new Map<Selection, Map<unknown, { value: object; fields: number }>>();

  constructor(schema: GraphQLSchema, variables: Variables, max: number) {
    this.#variables = variables;
    this.#max = max;
    // All that the resolvers of meta fields use.
    this.#info = { schema } as GraphQLResolveInfo;
  }

  field({ definition, nodes, parent, subselections }: SelectedField, object: unknown): unknown {
    this.#add(1);
    if (definition === TypeNameMetaFieldDef) return parent.name;
    const args = getArgumentValues(definition, nodes[0], this.#variables);
    const value = definition.resolve!(object, args, undefined, this.#info);
    const [selection] = subselections.values();
    const shown = selection
      ? (item: unknown) => this.#object(selection, item)
      : (item: unknown) => (getNamedType(definition.type) as GraphQLLeafType).serialize(item);
    const orNull = (item: unknown) => (item == null ? null : shown(item));
    return Array.isArray(value) ? value.map(orNull) : orNull(value);
  }

  #object(selection: Selection, object: unknown): object {
    const known = this.#known.get(selection) ?? new Map<unknown, { value: object; fields: number }>();
    this.#known.set(selection, known);
    const same = known.get(object);
    if (same) {
      this.#add(same.fields);
      return same.value;
    }
    const before = this.fields;
    const value: Record<string, unknown> = Object.create(null);
    for (const field of selection) value[field.key] = this.field(field, object);
    known.set(object, { value, fields: this.fields - before });
    return value;
  }

  #add(fields: number): void {
    this.fields += fields;
    if (this.fields > this.#max) {
      const max = Math.floor(this.#max).toLocaleString('en-US');
      throw tooComplex(`requests more than ${max} fields of the schema`);
    }
  }
}
