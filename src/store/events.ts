import type { Id } from '../domains/id.ts';
import type { MaybePromise } from '../maybe-promise.ts';

/** The types of events, each with the record that it tells of. Each domain adds its own, beside its record. */
// biome-ignore lint/suspicious/noEmptyInterface: the domains fill it
export interface EventTypes {}
export type EventType = keyof EventTypes;

/** The events of records that are created, updated and deleted: of a deleted one only its id is told. */
export type RecordEvents<Kind extends string, T> = Record<`${Kind}.created` | `${Kind}.updated`, T> &
  Record<`${Kind}.deleted`, { id: Id }>;

/** One committed write. */
export interface StoredEvent {
  /** Opaque; unique in its log. */
  id: string;
  type: EventType;
  /** When it was written, in milliseconds since 1970. */
  time: number;
  /** The record as the write left it (the pet, for stock); of a deleted one only its id. */
  record: EventTypes[EventType];
}

export interface EventRequest {
  /** A position in the log: the id of an event, or the `next` of a page. Missing: before the oldest event that is kept. */
  after?: string;
  /** Only these; missing: all. */
  types?: readonly EventType[];
  /** 1..100 */
  limit: number;
}

export interface EventPage {
  /** Oldest first. May hold fewer than the limit although there are more: one page looks at a bounded part of the log. */
  events: StoredEvent[];
  /** The position to read on from, whether the page holds events or not. */
  next: string;
  /** Whether the page reached the end of the log, as it was when it was read. */
  atEnd: boolean;
}

/** Who follows the log is told of everything that is committed from the moment it began to. */
export interface EventFollower {
  /** Some events, in the order of the log and without a gap to those before. */
  onEvents(events: readonly StoredEvent[]): void;
  /** The log can't be followed on; nothing comes after this. */
  onEnd(error: unknown): void;
}

export interface Following {
  /** Resolves when the follower has been told of everything that was committed before the call. */
  caughtUp(): MaybePromise<void>;
  /** How many milliseconds what it has told may be behind what is committed. */
  lag(): number;
  stop(): void;
}

/**
 * The log of changes: each write that changed something, once, in the order of commitment. Writes that were rolled back
 * are not in it.
 */
export interface EventStore {
  /**
   * @throws VALIDATION_FAILED for an `after` that is no position of this log, GONE for one whose next events are no longer kept,
   * NOT_FOUND where the database has no such log
   */
  eventPage(request: EventRequest): MaybePromise<EventPage>;
  /**
   * Follows the log from now on: what is committed after the returned promise is resolved is told for certain.
   *
   * @throws NOT_FOUND where the database has no such log
   */
  followEvents(follower: EventFollower): MaybePromise<Following>;
}
