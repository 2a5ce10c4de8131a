import type { ObjectFieldsShape } from '@pothos/core';
import { formatInstant } from '../foundation/instant.ts';
import type { Fields } from '../foundation/record.ts';
import type { Builder, Types } from './builder.ts';
import { exposed, typeOf } from './record-types.ts';

/**
 * Creates the GraphQL type of a declaration that isn't a stored record. Its instants are milliseconds since 1970.
 *
 * @param more fields besides those of the declaration
 */
export const declaredType = <T extends object>(
  builder: Builder,
  { type, description, fields }: { type: string; description: string; fields: Fields },
  more?: ObjectFieldsShape<Types, T>,
) =>
  builder.objectRef<T>(type).implement({
    description,
    fields: (t) => ({
      ...Object.fromEntries(
        Object.entries(fields).map(([name, field]) => {
          const resolve = (from: T) => {
            const value = from[name as keyof T] ?? null;
            return field.kind === 'instant' && value !== null ? formatInstant(value as number) : value;
          };
          return [name, t.field({ type: typeOf(builder, field), ...exposed(field), resolve } as never)];
        }),
      ),
      ...more?.(t),
    }),
  });
