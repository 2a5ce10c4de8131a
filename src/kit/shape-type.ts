import type { ObjectFieldsShape } from '@pothos/core';
import type { JsonSchema } from '../foundation/fields.ts';
import type { Shape, ShapeField } from '../rows/shape.ts';
import { builder } from './builder.ts';

type Types = typeof builder.$inferSchemaTypes;

function scalarOf({ kind, schema }: ShapeField) {
  if (kind === 'strings') return ['String'];
  if (kind !== 'string') return { int32: 'Int', boolean: 'Boolean' }[kind as 'int32' | 'boolean'];
  return { 'date-time': 'DateTime', date: 'Date' }[schema.format as 'date'] ?? 'String';
}

/**
 * Makes the GraphQL type of a shape whose values are no records of a store.
 *
 * @param options what else is to be said of a field, such as a type that its schema does not tell
 * @param more fields that REST does not have
 */
export function shapeType<T extends object>(
  { type, description, fields }: Shape,
  options: { readonly [K in keyof T]?: { type?: unknown; extensions?: object } } = {},
  more?: ObjectFieldsShape<Types, T>,
) {
  const given = options as Readonly<Record<string, object>>;
  return builder.objectRef<T>(type).implement({
    description,
    fields: (t) => ({
      ...Object.fromEntries(
        Object.entries(fields).map(([name, field]) => {
          const { maxItems, maxLength = (field.schema.items as JsonSchema | undefined)?.maxLength } =
            field.schema;
          const declared = {
            type: scalarOf(field),
            description: `${field.description}.`,
            nullable: !field.required,
            extensions: { maxItems, maxLength },
          };
          return [name, t.expose(name as never, { ...declared, ...given[name] } as never)];
        }),
      ),
      ...more?.(t),
    }),
  });
}
