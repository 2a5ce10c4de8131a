import { grouped } from '../foundation/words.ts';
import {
  type GraphQLLeafType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  TypeNameMetaFieldDef,
} from 'graphql';
import { tooComplex } from './result.ts';
import type { SelectedField, Selection } from './selection.ts';
import type { Variables } from './variables.ts';

/** The maximum number of schema fields in a result: far more than GraphiQL or code generators request. */
const MAX_FIELDS = 10_000;

/** True if a root field queries the schema. */
export const isSchemaField = ({ definition: { name } }: SelectedField): boolean =>
  name === '__schema' || name === '__type';

/**
 * Resolves introspection. graphql-js limits only its depth, so aliases could keep it busy for hundreds of milliseconds.
 *
 * @param selection the root fields
 * @returns the data; undefined if records are queried too
 * @throws QUERY_TOO_COMPLEX for more than MAX_FIELDS
 */
export function introspect(
  schema: GraphQLSchema,
  selection: Selection,
  variables: Variables,
): Record<string, unknown> | undefined {
  const asked = selection.filter(
    (field) => isSchemaField(field) || field.definition === TypeNameMetaFieldDef,
  );
  if (asked.length === 0 && selection.length > 0) return undefined;
  // The only values that the resolvers of meta fields use.
  const info = { schema } as GraphQLResolveInfo;
  let count = 0;
  const resolve = ({ definition, nodes, parent, subselections }: SelectedField, object: unknown): unknown => {
    if (++count > MAX_FIELDS)
      throw tooComplex(`requests more than ${grouped(MAX_FIELDS)} fields of the schema`);
    if (definition === TypeNameMetaFieldDef) return parent.name;
    const args = getArgumentValues(definition, nodes[0], variables);
    const value = definition.resolve!(object, args, undefined, info);
    const [own] = subselections.values();
    const shown = (item: unknown) => {
      if (item == null) return null;
      return own ? objectOf(own, item) : (getNamedType(definition.type) as GraphQLLeafType).serialize(item);
    };
    return Array.isArray(value) ? value.map(shown) : shown(value);
  };
  const objectOf = (fields: Selection, object: unknown): Record<string, unknown> => {
    const result: Record<string, unknown> = Object.create(null);
    for (const field of fields) result[field.key] = resolve(field, object);
    return result;
  };
  const data = objectOf(asked, undefined);
  return asked.length === selection.length ? data : undefined;
}
