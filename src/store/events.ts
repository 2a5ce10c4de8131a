import type { Id } from '../foundation/id.ts';
import { allowanceOf, type Meter } from '../foundation/meter.ts';
import { type AnyRecord, type Fields, formerNames, renamed } from '../foundation/record.ts';

/** The position after everything committed so far, also as clients send it. */
export const NOW = 'now';

/** The domain of a record and the past participle of its change: `pet.updated`. */
export type EventType = `${string}.${string}`;

/** The record of an event; of a deletion, only its id. */
export type EventRecord = { id: Id } & Readonly<Record<string, unknown>>;

/** The event types of a record, apart from those of its views. */
export const eventTypesOf = ({ kind }: AnyRecord) =>
  ({ created: `${kind}.created`, updated: `${kind}.updated`, deleted: `${kind}.deleted` }) as const;

/**
 * The event types of some records and their views. A log can also have events of others: another version of the program,
 * whose declarations differ, may have written them.
 */
export const allEventTypes = (records: readonly AnyRecord[]): ReadonlySet<EventType> =>
  new Set(
    records.flatMap((record) => [
      ...Object.values(eventTypesOf(record)),
      ...Object.values(record.fields as Fields).flatMap(({ view }): EventType[] =>
        view === undefined ? [] : [`${view}.updated`],
      ),
    ]),
  );

/** The fields whose values differ between two versions of a record. */
export const changedFields = (
  { fields }: AnyRecord,
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
): string[] => Object.keys(fields).filter((field) => before[field] !== after[field]);

/**
 * The event of a change: that of a view if only fields of this view changed.
 *
 * @param before undefined if the record is new
 * @param after undefined if it is deleted
 */
export function eventOf(
  record: AnyRecord,
  before: EventRecord | undefined,
  after: EventRecord | undefined,
): Pick<StoredEvent, 'type' | 'record'> {
  const { created, updated, deleted } = eventTypesOf(record);
  if (!after) return { type: deleted, record: { id: before!.id } };
  if (!before) return { type: created, record: after };
  const changed = changedFields(record, before, after);
  const [view, ...others] = new Set(changed.map((field) => (record.fields as Fields)[field]!.view));
  const isOfView = view !== undefined && others.length === 0;
  return { type: isOfView ? `${view}.updated` : updated, record: after };
}

/** Gives the record of an event, which may be of an earlier declaration, the current names. */
export function renamedIn(records: readonly AnyRecord[]) {
  const changed = records.filter((record) => formerNames(record).length > 0);
  const byKind = new Map(
    changed.flatMap((record) =>
      [record.kind, ...Object.values(record.fields as Fields).flatMap(({ view }) => view ?? [])].map(
        (kind) => [kind, record] as const,
      ),
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
  /** True to read the latest events before `before` instead of the first after `after`. */
  backward?: boolean;
  /** Of a backward page: an event id or the `next` of a backward page. By default, after the newest event. */
  before?: string;
  /** All types by default; with an empty list, a page is empty and its position advances all the same. */
  types?: readonly EventType[];
  /** 1..100 */
  limit: number;
  /** Bounds the events that the page examines, up to the number that a unit buys, which is the default. */
  meter?: Meter;
}

export interface EventPage {
  /**
   * Oldest first. May be shorter than the limit even if there are more events, because a page scans a bounded part of
   * the log.
   */
  events: StoredEvent[];
  /**
   * The position to continue from, even if the page is empty: the next `after`, or `before` of a backward page. It is that of
   * an event, as followers see it, if any was examined.
   */
  next: string;
  /** True if the page reached the end of the log at the time of the request, or its beginning if read backward. */
  atEnd: boolean;
}

/** The most events that a page may examine: however much was paid, no page takes longer than what one unit buys. */
export const examinedAtMost = (meter: Meter | undefined): number =>
  Math.min(allowanceOf('events', 1), meter?.left('events') ?? Number.POSITIVE_INFINITY);

/** The longest time that a follower of the log waits before it gets an empty page, in milliseconds. */
export const FOLLOW_WAIT = 500;

/**
 * The event log: every write that changed something, once, in commit order. Writes that were rolled back are not in it.
 */
export interface EventStore {
  /**
   * @throws VALIDATION_FAILED if `after` or `before` is not a position in this log, GONE if it is no longer kept
   */
  eventPage(request: EventRequest): Promise<EventPage>;
  /**
   * The pages of the log after a position, each as soon as it is there, with an empty one at least every
   * {@link FOLLOW_WAIT} while nothing is committed. If they end, the caller follows the log anew from the last one.
   *
   * @throws UNAVAILABLE, after which the same applies, and GONE
   */
  followEvents(after: string): AsyncIterable<EventPage>;
}
