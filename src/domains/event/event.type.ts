import { validationFailed } from '../../errors.ts';
import { builder } from '../../graphql/builder.ts';
import { pageSize } from '../../graphql/connection.ts';
import type { EventPage, EventRequest, StoredEvent } from '../../store/events.ts';
import { CategoryType, categorySource } from '../category/category.type.ts';
import { InventoryItemType } from '../inventory/inventory.type.ts';
import { formatInstant } from '../order/instant.ts';
import { OrderType, orderSource } from '../order/order.type.ts';
import { PetType, petSource } from '../pet/pet.type.ts';
import { dataOf, EVENT_TYPES, type EventTypeName, fromName, kindOf, MEANING, nameOf } from './event.ts';

const EventTypeType = builder.enumType('EventType', {
  description: 'What an event tells of.',
  values: Object.fromEntries(
    EVENT_TYPES.map((type) => [nameOf(type), { value: nameOf(type), description: MEANING[type] }]),
  ) as Record<EventTypeName, { value: EventTypeName; description: string }>,
});

/** The id of the record where the event is of this kind. */
const idIf = (event: StoredEvent, kind: ReturnType<typeof kindOf>): string | null =>
  kindOf(event.type) === kind ? event.record.id : null;

export const EventRef = builder.objectRef<StoredEvent>('Event').implement({
  description:
    'One committed write. Below `pet` and its like stands the record as it is now; `data` has it as of the event.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Opaque, for `after`: to go on behind this event.' }),
    type: t.field({
      type: EventTypeType,
      description: 'What happened.',
      resolve: ({ type }) => nameOf(type),
    }),
    time: t.field({
      type: 'DateTime',
      description: 'When it was written.',
      resolve: ({ time }) => formatInstant(time),
    }),
    data: t.field({
      type: 'JSON',
      description: 'The record as the write left it, as REST has it; of a deleted one only the id.',
      // Never larger than the largest record: a category with a name and a description in full.
      extensions: { weight: 24 },
      resolve: (event) => dataOf(event),
    }),
    pet: t.field({
      type: PetType,
      nullable: true,
      description: 'The pet of a `pet_…` event as it is now; null once it is deleted.',
      resolve: (event, _args, { loaders }) => {
        const id = idIf(event, 'pet');
        return id === null ? null : loaders.record(petSource, id);
      },
    }),
    category: t.field({
      type: CategoryType,
      nullable: true,
      description: 'The category of a `category_…` event as it is now; null once it is deleted.',
      resolve: (event, _args, { loaders }) => {
        const id = idIf(event, 'category');
        return id === null ? null : loaders.record(categorySource, id);
      },
    }),
    order: t.field({
      type: OrderType,
      nullable: true,
      description: 'The order of an `order_…` event as it is now; null once it is deleted.',
      resolve: (event, _args, { loaders }) => {
        const id = idIf(event, 'order');
        return id === null ? null : loaders.record(orderSource, id);
      },
    }),
    inventoryItem: t.field({
      type: InventoryItemType,
      nullable: true,
      description: 'The stock of an `inventory_…` event as it is now; null once its pet is deleted.',
      resolve: (event, _args, { loaders }) => {
        const id = idIf(event, 'inventory');
        return id === null ? null : loaders.record(petSource, id);
      },
    }),
  }),
});

const EventEdge = builder.objectRef<StoredEvent>('EventEdge').implement({
  description: 'An event with its cursor.',
  fields: (t) => ({
    cursor: t.exposeString('id', { description: 'The id of the event.', extensions: { longest: 500 } }),
    node: t.field({ type: EventRef, description: 'The event.', resolve: (event) => event }),
  }),
});

/** Of a log that goes on: it can be read on behind every page, the last one and an empty one included. */
const EventConnection = builder.objectRef<EventPage>('EventConnection').implement({
  description:
    'Events in the order of the log, oldest first. `pageInfo.endCursor` is always there: what comes next is `after` it.',
  fields: (t) => ({
    edges: t.field({
      type: [EventEdge],
      description: 'The events, each with its cursor.',
      resolve: ({ events }) => events,
    }),
    nodes: t.field({
      type: [EventRef],
      description: 'The events themselves.',
      resolve: ({ events }) => events,
    }),
    pageInfo: t.field({
      type: builder.pageInfoRef(),
      description: 'Where the page is in the log.',
      resolve: ({ events, next, atEnd }) => ({
        startCursor: events[0]?.id ?? null,
        endCursor: next,
        hasNextPage: !atEnd,
        // The log is read forward only.
        hasPreviousPage: false,
      }),
    }),
  }),
});

/**
 * Which events the arguments ask for.
 *
 * @throws VALIDATION_FAILED for no type at all
 */
export function eventSelection({
  after,
  types,
}: {
  after?: string | null | undefined;
  types?: readonly EventTypeName[] | null | undefined;
}): Omit<EventRequest, 'limit'> {
  if (types?.length === 0)
    throw validationFailed([{ path: 'types', message: 'must have at least one type' }]);
  return { ...(after != null && { after }), ...(types != null && { types: types.map(fromName) }) };
}

/** Ids of events are text of their own, no int64. */
const OPAQUE = { opaque: true };

const eventArgs = {
  after: 'Only events behind this one',
  types: 'Only events of these types.',
};

builder.subscriptionType({ description: 'What can be followed, over server-sent events.' });

builder.subscriptionFields((t) => ({
  events: t.field({
    type: EventRef,
    description:
      'Each write as it is committed. Costs 1 unit to open, and for every 100 events what its selection costs for 100 rows.',
    args: {
      after: t.arg.id({
        description: `${eventArgs.after}; without it, those that come next.`,
        extensions: OPAQUE,
      }),
      types: t.arg({ type: [EventTypeType], description: eventArgs.types }),
    },
    subscribe: (_root, args, context) => context.followEvents!(eventSelection(args)),
    resolve: (event) => event,
  }),
}));

builder.queryFields((t) => ({
  events: t.field({
    type: EventConnection,
    description:
      'The log of changes. Ask again with the `endCursor` of the last page as `after`, and nothing is missed.',
    args: {
      after: t.arg.id({
        description: `${eventArgs.after}; without it, from the oldest that is kept.`,
        extensions: OPAQUE,
      }),
      types: t.arg({ type: [EventTypeType], description: eventArgs.types }),
      first: t.arg.int({ description: 'How many events: 1 to 100; 20 unless given.' }),
    },
    resolve: (_root, { after, types, first }, { store }) =>
      store.eventPage({ limit: pageSize(first), ...eventSelection({ after, types }) }),
  }),
}));
