import { deferred } from '../foundation/maybe-promise.ts';
import type { EventStore, Following, StoredEvent } from '../store/events.ts';
import {
  EventReader,
  type FeedEvent,
  type FeedView,
  type Selection,
  SlowReaderError,
  toFeedEvent,
} from './reader.ts';

/** How far a reader may lag behind what it was offered: notified of at least one notification ago. */
const MAX_LAG = { events: 1_000, bytes: 1_000_000 };
/** Readers are notified in batches, less often the more there are, at most this many milliseconds apart. */
const MAX_NOTIFY_INTERVAL = 50;
const NOTIFY_INTERVAL_PER_READER = 0.05;

/**
 * The event log for the readers of this process. The store is followed once, however many readers there
 * are. Kept are the events that no reader was offered yet, and those before them for as far back as a reader
 * may lag; one further back reads pages from the store until it has caught up.
 */
export class EventFeed {
  readonly #store: EventStore;
  readonly #readers = new Set<EventReader>();
  #following: Promise<Following> | undefined;
  /** The latest events, oldest first. */
  #events: FeedEvent[] = [];
  /** The number up to which readers have been notified, and the size of the kept events before it. */
  #offered = { end: 0, bytes: 0 };
  /** The number of the first of `#events`: how many were dropped before it. */
  #first = 0;
  #changed = deferred();
  #timer: NodeJS.Timeout | undefined;
  #notifiedAt = 0;
  #lag: (() => number) | undefined;

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** How many milliseconds readers may be behind the latest commit; 0 without readers. */
  get lag(): number {
    return this.#lag?.() ?? 0;
  }

  /**
   * Opens a reader of the events after `after`, or of those committed from now on.
   *
   * @throws VALIDATION_FAILED, GONE, NOT_FOUND as {@link EventStore} does
   */
  async open(selection: Selection): Promise<EventReader> {
    const reader = new EventReader(this.#view, selection);
    this.#readers.add(reader);
    try {
      const following = await this.#follow();
      await reader.start(this.#store, following);
      return reader;
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  /** The readers' view of the feed. */
  readonly #view: FeedView = {
    first: () => this.#first,
    end: () => this.#first + this.#events.length,
    get: (number) => this.#events[number - this.#first]!,
    indexOf: (id) => {
      const index = this.#events.findLastIndex(({ event }) => event.id === id);
      return index < 0 ? undefined : this.#first + index;
    },
    changed: () => this.#changed.promise,
    wake: () => this.#notify(),
    left: (reader) => this.#leave(reader),
  };

  #follow(): Promise<Following> {
    if (this.#following) return this.#following;
    const follower = {
      onEvents: (events: readonly StoredEvent[]) => {
        if (this.#following === following) this.#add(events);
      },
      onEnd: (error: unknown) => {
        if (this.#following === following) this.#end(error);
      },
    };
    const following: Promise<Following> = Promise.resolve(this.#store.followEvents(follower));
    this.#following = following;
    following.then(
      (progress) => {
        if (this.#following === following) this.#lag = progress.lag;
      },
      // Those who wait for it fail; the last to leave ends it.
      () => {},
    );
    return following;
  }

  #add(events: readonly StoredEvent[]): void {
    for (const event of events) this.#events.push(toFeedEvent(event));
    this.#notify();
  }

  /** Offers the new events, after cutting off the readers that lag too far behind what they were offered. */
  #offer(): void {
    const { end, bytes } = this.#offered;
    let [gone, kept] = [0, bytes];
    while (end - this.#first - gone > MAX_LAG.events || kept > MAX_LAG.bytes)
      kept -= this.#events[gone++]!.bytes;
    if (gone > 0) {
      this.#events.splice(0, gone);
      this.#first += gone;
      for (const reader of this.#readers)
        if (reader.isBefore(this.#first)) reader.fail(new SlowReaderError());
    }
    for (const event of this.#events.slice(end - this.#first)) kept += event.bytes;
    this.#offered = { end: this.#first + this.#events.length, bytes: kept };
    const { resolve } = this.#changed;
    this.#changed = deferred();
    resolve();
  }

  /** Wakes the readers: immediately after a quiet period, in intervals under load. */
  #notify(): void {
    if (this.#timer) return;
    const wait = Math.min(MAX_NOTIFY_INTERVAL, this.#readers.size * NOTIFY_INTERVAL_PER_READER);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#notifiedAt = performance.now();
        this.#offer();
        // By then all of them have taken their events. The longer that takes, the longer the next interval.
        setImmediate(() => {
          this.#notifiedAt = performance.now();
        });
      },
      Math.max(0, this.#notifiedAt + wait - performance.now()),
    );
  }

  #end(error: unknown): void {
    // Some readers take time to close. New ones must not get events from the ended stream.
    this.#unfollow();
    for (const reader of this.#readers) reader.fail(error);
  }

  #leave(reader: EventReader): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#unfollow();
  }

  #unfollow(): void {
    const following = this.#following;
    this.#following = undefined;
    this.#lag = undefined;
    this.#first += this.#events.length;
    this.#events = [];
    this.#offered = { end: this.#first, bytes: 0 };
    void following?.then(
      ({ stop }) => stop(),
      () => {},
    );
  }
}
