import type { Id } from '../foundation/id.ts';
import { allowanceOf, type Meter } from '../foundation/meter.ts';
import { type AnyDeclaration, type Fields, formerNames, renamed } from '../foundation/record.ts';

/** The position after everything committed so far, as clients send it too. */
export const NOW = 'now';

/** A domain and the past participle of a change: `pet.updated`. */
export type EventType = `${string}.${string}`;

/** The record of an event; only its id for a deletion. */
export type EventRecord = { id: Id } & Readonly<Record<string, unknown>>;

/** The event types of a record, except for those of its views. */
export const eventTypesOf = ({ kind }: AnyDeclaration) =>
  ({ created: `${kind}.created`, updated: `${kind}.updated`, deleted: `${kind}.deleted` }) as const;

/**
 * The event types of some records and their views. A log may contain others, written by versions of the program with
 * other declarations.
 */
export const allEventTypes = (declarations: readonly AnyDeclaration[]): ReadonlySet<EventType> =>
  new Set(
    declarations.flatMap((declaration) => [
      ...Object.values(eventTypesOf(declaration)),
      ...Object.values(declaration.fields as Fields).flatMap(({ view }): EventType[] =>
        view === undefined ? [] : [`${view}.updated`],
      ),
    ]),
  );

/** The fields whose values differ between two versions of a record. */
export const changedFields = (
  { fields }: AnyDeclaration,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] => Object.keys(fields).filter((field) => before[field] !== after[field]);

/**
 * The event of a change: that of a view if only the view's fields changed.
 *
 * @param before undefined if the record is new
 * @param after undefined if the record is deleted
 */
export function eventOf(
  declaration: AnyDeclaration,
  before: EventRecord | undefined,
  after: EventRecord | undefined,
): Pick<StoredEvent, 'type' | 'record'> {
  const { created, updated, deleted } = eventTypesOf(declaration);
  if (!after) return { type: deleted, record: { id: before!.id } };
  if (!before) return { type: created, record: after };
  const changed = changedFields(declaration, before, after);
  const [view, ...others] = new Set(changed.map((field) => (declaration.fields as Fields)[field]!.view));
  const isOfView = view !== undefined && others.length === 0;
  return { type: isOfView ? `${view}.updated` : updated, record: after };
}

/** Creates a function that renames the fields of an event's record, which may follow an earlier declaration. */
export function renamedIn(declarations: readonly AnyDeclaration[]) {
  const changed = declarations.filter((declaration) => formerNames(declaration).length > 0);
  const byKind = new Map(
    changed.flatMap((declaration) =>
      [
        declaration.kind,
        ...Object.values(declaration.fields as Fields).flatMap(({ view }) => view ?? []),
      ].map((kind) => [kind, declaration] as const),
    ),
  );
  return (type: EventType, values: EventRecord): EventRecord => {
    const record = byKind.size > 0 ? byKind.get(type.split('.')[0]!) : undefined;
    return record ? renamed(record, values) : values;
  };
}

/** One committed write. */
export interface StoredEvent {
  /** Opaque; unique within the log. */
  id: string;
  type: EventType;
  /** Milliseconds since 1970. */
  time: number;
  /** The record after the write (for stock, the pet); for a deletion, only its id. */
  record: EventRecord;
}

export interface EventRequest {
  /** A position in the log: an event id, a page's `next` or {@link NOW}. By default, before the oldest event kept. */
  after?: string;
  /** True to read the latest events before `before` instead of the first ones after `after`. */
  backward?: boolean;
  /** For a backward page: an event id or the `next` of a backward page. By default, after the newest event. */
  before?: string;
  /** All types by default. With an empty list, pages are empty and the position still advances. */
  types?: readonly EventType[];
  /** 1..100 */
  limit: number;
  /** Limits the events that the page examines, to at most the number that one unit buys (the default). */
  meter?: Meter;
}

export interface EventPage {
  /**
   * Oldest first. May be shorter than the limit even if more events follow, because a page examines a bounded part of
   * the log.
   */
  events: StoredEvent[];
  /**
   * The position to continue from, even after an empty page: the next `after`, or `before` of a backward page. It is an
   * event's own position, as followers see it, if any event was examined.
   */
  next: string;
  /** True if the page reached the end of the log at the time of the request, or its beginning if read backward. */
  atEnd: boolean;
}

/** The maximum number of events that a page examines: at most as many as one unit buys, whatever was paid. */
export const examinedAtMost = (meter: Meter | undefined): number =>
  Math.min(allowanceOf('events', 1), meter?.left('events') ?? Number.POSITIVE_INFINITY);

/** The time after which a follower of the log gets an empty page, in milliseconds. */
export const FOLLOW_WAIT = 500;

/** The event log: every committed write that changed something, once, in commit order. */
export interface EventStore {
  /**
   * @throws VALIDATION_FAILED if `after` or `before` is not a position in this log, GONE if it is no longer kept
   */
  eventPage(request: EventRequest): Promise<EventPage>;
  /**
   * Follows the log from a position. Yields pages as events are committed, or an empty one every {@link FOLLOW_WAIT}.
   * If the pages end, the caller must follow again from the last one.
   *
   * @throws UNAVAILABLE, after which the caller must follow again too; GONE
   */
  followEvents(after: string): AsyncIterable<EventPage>;
}
