import { type Permissions, permits, readScope } from '../../access/scopes.ts';
import { type Choices, choice, choices, type Field, instant, opaqueId } from '../../foundation/fields.ts';
import { integerOf } from '../../foundation/id.ts';
import { formatInstant } from '../../foundation/instant.ts';
import { oneOf, restDialect } from '../../foundation/validation.ts';
import type { Domain } from '../../schema/domain.ts';
import { toJson } from '../../schema/json.ts';
import { type Shape, shownValue } from '../../rest-routes/shape.ts';
import type { EventRequest, EventType, StoredEvent } from '../../store/events.ts';
import { DOMAINS } from '../index.ts';

/** The description of each event type. */
const EVENT_DESCRIPTIONS: Readonly<Record<EventType, string>> = Object.assign(
  {},
  ...DOMAINS.map(({ events }) => events),
);

export const EVENT_TYPES = Object.keys(EVENT_DESCRIPTIONS) as readonly EventType[];

/** The GraphQL name of an event type: `pet_updated`. */
export type EventTypeName = Dotless<EventType>;
type Dotless<T> = T extends `${infer Kind}.${infer Change}` ? `${Kind}_${Change}` : never;

export const toEventTypeName = (type: EventType): EventTypeName => type.replace('.', '_') as EventTypeName;

export const fromEventTypeName = (name: EventTypeName): EventType => name.replace('_', '.') as EventType;

/** The types of events, by their names in GraphQL. */
export const EventTypes: Choices<EventTypeName> = {
  ...choices(
    'EventType',
    'The type of an event.',
    Object.fromEntries(
      EVENT_TYPES.map((type) => [toEventTypeName(type), EVENT_DESCRIPTIONS[type]]),
    ) as Record<EventTypeName, string>,
  ),
  restValue: fromEventTypeName,
};

/** The type of an event. */
export const eventType = (description: string): Field<string, 'required'> => ({
  ...choice(EventTypes, description, 'pet_updated'),
  example: 'pet.updated',
  rule: (dialect) =>
    dialect === restDialect
      ? oneOf(EVENT_TYPES)
      : oneOf(EventTypes.values).transform((name) => fromEventTypeName(name as EventTypeName)),
});

/** The id of an event, or another place in the log. MongoDB's can be long. */
export const place = (description: string) => opaqueId(2_000, description, '5f0c1d2e-42');

export const EventDeclaration = {
  type: 'Event',
  listName: 'Events',
  description: 'One committed write.',
  fields: {
    id: place('Opaque; pass it as `after` to continue from here'),
    type: eventType('What happened'),
    time: instant('When the write was committed', '2026-11-21T12:00:00.123Z'),
  },
};

const DOMAIN_OF = new Map<EventType, Domain>(
  DOMAINS.flatMap((domain) => Object.keys(domain.events).map((type) => [type as EventType, domain])),
);

/** The domain of an event type. */
export const domainOf = (type: EventType): Domain => DOMAIN_OF.get(type)!;

/** True if a key may read the records of events of a type. */
export function mayReadEvent(caller: Permissions, type: EventType): boolean {
  const { scope } = domainOf(type).resource;
  return scope === null || permits(caller, readScope(scope));
}

/** The types among these, or among all, of the events whose records a key may read. */
export const readableTypes = (
  caller: Permissions,
  types: readonly EventType[] | undefined,
): readonly EventType[] | undefined =>
  caller.scopes === undefined ? types : (types ?? EVENT_TYPES).filter((type) => mayReadEvent(caller, type));

/** The events that are requested. @param types by their names in GraphQL */
export const eventSelection = ({
  after,
  types,
}: {
  after?: string | null | undefined;
  types?: readonly EventTypeName[] | null | undefined;
}): Omit<EventRequest, 'limit'> => ({
  ...(after != null && { after }),
  ...(types && { types: types.map(fromEventTypeName) }),
});

/** The REST shape of an event's `data`. */
export const eventShape = (type: EventType): Shape => domainOf(type).resource.shapes[0]!;

/** An event's data in REST form; ids beyond 2^53 are bigints. */
export function eventData({ type, record }: Pick<StoredEvent, 'type' | 'record'>): Record<string, unknown> {
  const data: Record<string, unknown> = {};
  const isDeleted = type.endsWith('.deleted');
  for (const [name, field] of Object.entries(eventShape(type).fields)) {
    const value = isDeleted && field.compute ? undefined : shownValue(name, field, record);
    if (value === undefined) continue;
    data[name] = field.kind === 'int64' ? integerOf(value as string) : value;
  }
  return data;
}

/** An event as JSON text in REST form. */
export const eventJson = (event: StoredEvent): string =>
  toJson({ id: event.id, type: event.type, time: formatInstant(event.time), data: eventData(event) });
