import {
  type GraphQLLeafType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  TypeNameMetaFieldDef,
} from 'graphql';
import { tooComplex } from './refusal.ts';
import type { SelectedField, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** Fields of the schema in one root field's result: a good deal more than GraphiQL or code generators ask for. */
const MAX_FIELDS = 10_000;

/** Whether a root field queries the schema. */
export const isSchemaField = ({ definition: { name } }: SelectedField): boolean =>
  name === '__schema' || name === '__type';

/**
 * Resolves introspection. graphql-js bounds its depth alone, so aliases would keep it busy for hundreds of milliseconds.
 * The schema repeats itself, so each object is resolved once for each selection; how much there is to write is counted.
 *
 * @param selection of the root fields
 * @returns the data if nothing but the schema is queried; undefined otherwise
 * @throws QUERY_TOO_COMPLEX if there is far more than what tools need
 */
export function introspect(
  schema: GraphQLSchema,
  selection: Selection,
  variables: Variables,
): Record<string, unknown> | undefined {
  const data: Record<string, unknown> = Object.create(null);
  let isWhole = true;
  for (const field of selection) {
    if (isSchemaField(field)) data[field.key] = new RootField(schema, variables).resolve(field, undefined);
    else if (field.definition === TypeNameMetaFieldDef) data[field.key] = field.parent.name;
    else isWhole = false;
  }
  return isWhole ? data : undefined;
}

/** Resolves one root field. */
class RootField {
  readonly #variables: Variables;
  readonly #info: GraphQLResolveInfo;
  /** Results by object, shared wherever the same selection applies. */
  readonly #known = new Map<Selection, Map<unknown, { value: object; fields: number }>>();

  /** Fields in the result, counting repeated objects each time. */
  #fields = 0;

  constructor(schema: GraphQLSchema, variables: Variables) {
    this.#variables = variables;
    // All that the resolvers of meta fields use.
    this.#info = { schema } as GraphQLResolveInfo;
  }

  resolve({ definition, nodes, parent, subselections }: SelectedField, object: unknown): unknown {
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
    const before = this.#fields;
    const value: Record<string, unknown> = Object.create(null);
    for (const field of selection) value[field.key] = this.resolve(field, object);
    known.set(object, { value, fields: this.#fields - before });
    return value;
  }

  #add(fields: number): void {
    this.#fields += fields;
    if (this.#fields > MAX_FIELDS)
      throw tooComplex(`requests more than ${MAX_FIELDS.toLocaleString('en-US')} fields of the schema`);
  }
}
