import type { ObjectRef } from '@pothos/core';
import { builder } from './builder.ts';

/**
 * The connection and edge types of a record's lists: `PetConnection` and `PetEdge`, however many fields there
 * are with such a list.
 */
export const connectionOf = <T extends object>(type: ObjectRef<typeof builder.$inferSchemaTypes, T>) =>
  builder.connectionObject(
    {
      type,
      name: `${type.name}Connection`,
      description: `A page of a list with items of type ${type.name} (Relay cursor connections).`,
    },
    {
      name: `${type.name}Edge`,
      description: `An item of type ${type.name} with its position in the list.`,
    },
  );
