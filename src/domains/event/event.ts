import { choice, type Field, instant, opaqueId } from '../../foundation/fields.ts';
import { oneOf, restDialect } from '../../foundation/validation.ts';
import { type EventTypeName, type EventTypes, fromEventTypeName } from '../../events/event-types.ts';
import type { WantedEvents } from '../../events/feed.ts';

/** A field with an event type. */
export const eventType = (
  { names, choices, example }: EventTypes,
  description: string,
): Field<string, 'required'> => ({
  ...choice(choices, description, choices.values[0]!),
  example,
  rule: (dialect) =>
    dialect === restDialect
      ? oneOf(names)
      : oneOf(choices.values).transform((name) => fromEventTypeName(name as EventTypeName)),
});

/** A field with the id of an event or another position in the log. MongoDB's can be long. */
export const position = (description: string) => opaqueId(2_000, description, '5f0c1d2e-42');

/** The fields common to all events. */
export const COMMON = {
  id: position('Opaque; pass it as `after` to continue from here'),
  time: instant('When the write was committed', '2026-11-21T12:00:00.123Z'),
};

export const eventDeclaration = (types: EventTypes) => ({
  type: 'Event',
  listName: 'Events',
  description: 'One committed write.',
  fields: {
    id: COMMON.id,
    type: eventType(types, 'What happened'),
    time: COMMON.time,
  },
});

/** The requested events. @param types GraphQL names of event types */
export const wantedEvents = ({
  after,
  types,
}: {
  after?: string | null | undefined;
  types?: readonly EventTypeName[] | null | undefined;
}): WantedEvents => ({
  ...(after != null && { after }),
  ...(types && { types: types.map(fromEventTypeName) }),
});
