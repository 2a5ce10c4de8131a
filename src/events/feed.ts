import { deferred } from '../foundation/maybe-promise.ts';
import type { EventStore, Following, StoredEvent } from '../store/events.ts';
import { NOW } from '../store/events.ts';
import { EventReader, type FeedEvent, type FeedView, type Selection, toFeedEvent } from './reader.ts';

/** How much of the end of the log is kept for readers who keep up. */
const KEPT = { events: 1_000, bytes: 1_000_000 };
/** How long events wait for more before readers are notified, in milliseconds. */
const MAX_DELAY = 50;
const DELAY_PER_READER = 0.05;

/**
 * The event log for the readers of this process. The store is followed once, however many readers there
 * are. The latest events are kept for those who keep up; whoever is further back reads pages from the store
 * until it has caught up, so that memory is bounded and nobody is cut off.
 */
export class EventFeed {
  readonly #store: EventStore;
  readonly #readers = new Set<EventReader>();
  #following: Promise<Following> | undefined;
  /** The latest events, oldest first. */
  #events: FeedEvent[] = [];
  #bytes = 0;
  /** The number of the first of `#events`: how many were dropped before it. */
  #first = 0;
  #changed = deferred();
  #timer: NodeJS.Timeout | undefined;
  #lag: (() => number) | undefined;

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** How many milliseconds readers may be behind the latest commit; 0 without readers. */
  get lag(): number {
    return this.#lag?.() ?? 0;
  }

  /**
   * Opens a reader of the events after `after`, or of those committed from now on without it or with {@link NOW}.
   *
   * @throws VALIDATION_FAILED, GONE, NOT_FOUND as {@link EventStore} does
   */
  async open(selection: Selection): Promise<EventReader> {
    const { after, types } = selection;
    const reader = new EventReader(this.#view, types);
    this.#readers.add(reader);
    try {
      const following = await this.#follow();
      const isNow = after === undefined || after === NOW;
      await reader.start(this.#store, following, isNow ? await this.#store.endOfEvents() : after);
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
    for (const event of events) {
      const added = toFeedEvent(event);
      this.#events.push(added);
      this.#bytes += added.bytes;
    }
    let dropped = 0;
    while (this.#events.length - dropped > KEPT.events || this.#bytes > KEPT.bytes)
      this.#bytes -= this.#events[dropped++]!.bytes;
    this.#events.splice(0, dropped);
    this.#first += dropped;
    this.#notify();
  }

  /** Wakes the readers, together for what comes in a moment that is longer the more there are. */
  #notify(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        const { resolve } = this.#changed;
        this.#changed = deferred();
        resolve();
      },
      Math.min(MAX_DELAY, this.#readers.size * DELAY_PER_READER),
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
    this.#bytes = 0;
    void following?.then(
      ({ stop }) => stop(),
      () => {},
    );
  }
}
