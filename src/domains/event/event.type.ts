import { z } from 'zod';
import type { Issue } from '../../foundation/errors.ts';
import { DEFAULT_PAGE_SIZE } from '../../foundation/meter.ts';
import { inputObject, issuesOf, list } from '../../foundation/validation.ts';
import { OPAQUE, withRule } from '../../schema/arguments.ts';
import type { Builder } from '../../schema/builder.ts';
import { connectionRule } from '../../schema/list-connection.ts';
import { declaredType } from '../../schema/declared-type.ts';
import type { Domain } from '../domain.ts';
import type { ConnectionArguments } from '../../schema/list-arguments.ts';
import { enumOf } from '../../schema/record-types.ts';
import { type EventPage, NOW, type StoredEvent } from '../../store/events.ts';
import { type EventTypeName, type EventTypes, toEventTypeName } from '../../events/event-types.ts';
import { eventDeclaration, wantedEvents } from './event.ts';

const someTypes = inputObject({ types: list(z.string()).nullish() });
const typesRule = ({ types }: { types?: readonly EventTypeName[] | null }): Issue[] =>
  issuesOf(someTypes.safeParse({ types }).error?.issues ?? []);

/** The rule that `after` and `first` are not combined with `before` and `last`. */
const directionRule = ({ first, last, after, before }: ConnectionArguments): Issue[] =>
  (last != null || before != null) && (first != null || after != null)
    ? [{ path: last == null ? 'before' : 'last', message: 'must not be combined with first or after' }]
    : [];

/** Adds the event log, and the subscription to it. */
export function addEventTypes(builder: Builder, types: EventTypes<Domain>, domains: readonly Domain[]): void {
  const EventTypeType = enumOf(builder, types.choices);

  const EventRef = declaredType<StoredEvent>(
    builder,
    {
      ...eventDeclaration(types),
      description:
        'One committed write. `pet`, `category` and so on return the current record; `data` has it as of the event.',
    },
    (t) => ({
      type: t.field({
        type: EventTypeType,
        description: 'What happened.',
        resolve: ({ type }) => toEventTypeName(type),
      }),
      data: t.field({
        type: 'JSON',
        description: 'The record after the write in its REST form; for a deletion only its id.',
        extensions: { maxLength: types.maxLength },
        resolve: (event) => types.dataOf(event),
      }),
      ...Object.fromEntries(
        domains.map((domain) => [
          domain.eventField.name,
          t.field({
            type: domain.resource.shapes[0]!.type as 'String',
            nullable: true,
            description: domain.eventField.description,
            resolve: ({ type, record }, _args, { loaders }) =>
              types.sourceOf(type) === domain ? (loaders.record(domain.record, record.id) as never) : null,
          }),
        ]),
      ),
    }),
  );

  const EventEdge = builder.objectRef<StoredEvent>('EventEdge').implement({
    description: 'An event with its cursor.',
    fields: (t) => ({
      cursor: t.exposeString('id', { description: 'The id of the event.', extensions: { maxLength: 500 } }),
      node: t.field({ type: EventRef, description: 'The event.', resolve: (event) => event }),
    }),
  });

  /** The log is endless, so reading can continue after every page, even an empty one. */
  const EventConnection = builder.objectRef<EventPage & { backward?: boolean }>('EventConnection').implement({
    description:
      'Events in log order, oldest first. Pass `pageInfo.endCursor` as `after` to get what comes next, which it always names unless the page was read by `last`; pass `startCursor` as `before` to get what came earlier.',
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
        description: 'The position of the page in the log.',
        // Spends no read on the opposite direction, for which Relay's specification allows false.
        resolve: ({ events, next, atEnd, backward }) => ({
          startCursor: (backward ? next : events[0]?.id) || null,
          endCursor: backward ? (events.at(-1)?.id ?? null) : next,
          hasNextPage: !backward && !atEnd,
          hasPreviousPage: backward === true && !atEnd,
        }),
      }),
    }),
  });

  /** The arguments that select events. @param begin the default start, for the description */
  const wantedEventsArgs = (begin: string) =>
    builder.args((t) => ({
      after: t.id({
        description: `Only events after this one; by default, ${begin}. \`now\` is the end of the log.`,
        extensions: OPAQUE,
      }),
      types: t.field({
        type: [EventTypeType],
        description: 'Only events of these types.',
        extensions: withRule(typesRule),
      }),
    }));

  builder.subscriptionType({
    description: 'Root type of all subscriptions, delivered as server-sent events.',
  });

  builder.subscriptionFields((t) => ({
    events: t.field({
      type: EventRef,
      description:
        'Every write as it is committed. Costs 1 unit to open, and for every 100 events the cost of the selection for 100 rows.',
      args: wantedEventsArgs('events from now on'),
      subscribe: (_root, args, context) => context.followEvents!(wantedEvents(args)),
      resolve: (event) => event,
    }),
  }));

  builder.queryFields((t) => ({
    events: t.field({
      type: EventConnection,
      description:
        'The event log: every change, once, in commit order. To miss nothing, pass the `endCursor` of the last page as `after`.',
      args: {
        ...wantedEventsArgs('from the oldest event kept'),
        first: t.arg.int({
          description: 'Number of events, 1 to 100; defaults to 20.',
          extensions: withRule((args: ConnectionArguments) => [
            ...connectionRule(args),
            ...directionRule(args),
          ]),
        }),
        last: t.arg.int({ description: 'Number of the latest events, 1 to 100, in place of `first`.' }),
        before: t.arg.id({ description: 'Only events before this one, with `last`.', extensions: OPAQUE }),
      },
      resolve: async (
        _root,
        { after, types: among, first, last, before },
        { loaders, meter, principal, store },
      ) => {
        const wanted = wantedEvents({ after, types: among });
        const readable = types.readable(principal, wanted.types);
        const backward = last != null || before != null;
        const request = {
          limit: last ?? first ?? DEFAULT_PAGE_SIZE,
          ...wanted,
          ...(readable && { types: readable }),
          ...(backward && { backward, ...(before != null && before !== NOW && { before }) }),
          meter,
        };
        const page = await loaders.inTurn(() => store.eventPage(request));
        meter.draw('entries', page.events.length);
        return { ...page, backward };
      },
    }),
  }));
}
