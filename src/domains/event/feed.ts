import { AppError } from '../../errors.ts';
import type { EventRequest, EventStore, EventType, Following, StoredEvent } from '../../store/events.ts';
import { eventJson } from './event.ts';

/** How far a reader may lag. */
const MAX_LAG = { events: 1_000, bytes: 1_000_000 };
/** Events per page while a reader catches up. */
const CATCH_UP_PAGE_SIZE = 100;
/** Readers are notified in batches, less often the more there are, at most this many milliseconds apart. */
const MAX_NOTIFY_INTERVAL = 50;
const NOTIFY_INTERVAL_PER_READER = 0.05;

/** An event with its JSON text in REST form, which all readers share. */
export interface FeedEvent {
  event: StoredEvent;
  json: string;
}

/** Which events to read. */
export type Selection = Omit<EventRequest, 'limit'>;

/** Ends a reader whose client is too slow. */
export class SlowReaderError extends AppError {
  constructor() {
    super('UNAVAILABLE', 'The reader fell too far behind. Resume after the last event received.', {
      retryAfter: 1,
    });
  }
}

const toFeedEvent = (event: StoredEvent): FeedEvent => ({ event, json: eventJson(event) });

/**
 * The log of changes for the readers of this process. The store is followed once, however many readers there
 * are. The latest events are kept for as far back as a reader may lag; one further back reads pages from the
 * store until it has caught up.
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
      (found) => {
        if (this.#following === following) this.#lag = found.lag;
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
      this.#bytes += added.json.length;
    }
    let gone = 0;
    while (this.#events.length - gone > MAX_LAG.events || this.#bytes > MAX_LAG.bytes)
      this.#bytes -= this.#events[gone++]!.json.length;
    if (gone > 0) {
      this.#events.splice(0, gone);
      this.#first += gone;
      for (const reader of this.#readers)
        if (reader.isBefore(this.#first)) reader.fail(new SlowReaderError());
    }
    this.#notify();
  }

  /** Wakes the readers: immediately after a quiet period, in intervals under load. */
  #notify(): void {
    if (this.#timer) return;
    const wait = Math.min(MAX_NOTIFY_INTERVAL, this.#readers.size * NOTIFY_INTERVAL_PER_READER);
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#notifiedAt = performance.now();
        const { resolve } = this.#changed;
        this.#changed = deferred();
        resolve();
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
    this.#events = [];
    this.#bytes = 0;
    void following?.then(
      ({ stop }) => stop(),
      () => {},
    );
  }
}

interface FeedView {
  /** The number of the oldest event kept; events are numbered in order of arrival. */
  first(): number;
  /** The number of the next event to arrive. */
  end(): number;
  get(number: number): FeedEvent;
  /** The number of the event with this id, if it is kept. */
  indexOf(id: string): number | undefined;
  /** Resolves when there are new events. */
  changed(): Promise<void>;
  /** Wakes waiting readers. */
  wake(): void;
  left(reader: EventReader): void;
}

/** One reader of the log. It pulls events; its lag is what it has not pulled yet. */
export class EventReader {
  readonly #feed: FeedView;
  readonly #types: ReadonlySet<EventType> | undefined;
  readonly #after: string | undefined;
  /** The number of the next event to take; undefined while catching up. */
  #next: number | undefined;
  #first: FeedEvent[] = [];
  /** Called when the reader fails, even while nobody is taking events. */
  onFailure: ((error: unknown) => void) | undefined;
  #failure: { error: unknown } | undefined;
  #catchUp: AsyncGenerator<FeedEvent[]> | undefined;

  constructor(feed: FeedView, { after, types }: Selection) {
    this.#feed = feed;
    this.#after = after;
    this.#types = types && new Set(types);
  }

  /** Determines the position in the log. */
  async start(store: EventStore, following: Following): Promise<void> {
    if (this.#after === undefined) {
      this.#next = this.#feed.end();
      return;
    }
    this.#catchUp = this.#pages(store, following, this.#after);
    // Read the first page before the response starts, while an invalid position can still be reported.
    this.#first = await this.#page();
  }

  /** Whether the next event to take is older than this number. */
  isBefore(number: number): boolean {
    return this.#next !== undefined && this.#next < number;
  }

  /** Ends the reader with this error. */
  fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.onFailure?.(error);
    this.#feed.wake();
  }

  close(): void {
    this.#feed.left(this);
  }

  /** Waits for the next events. @returns at least one @throws the error that ended the reader */
  async take(): Promise<readonly FeedEvent[]> {
    for (;;) {
      if (this.#failure) throw this.#failure.error;
      if (this.#first.length > 0) return this.#first.splice(0);
      const events = this.#next === undefined ? await this.#page() : this.#kept();
      if (events.length > 0) return events;
      if (this.#next !== undefined && this.#next === this.#feed.end()) await this.#feed.changed();
    }
  }

  async #page(): Promise<FeedEvent[]> {
    const { value, done } = await this.#catchUp!.next();
    return done ? [] : value;
  }

  #kept(): FeedEvent[] {
    const end = this.#feed.end();
    const events: FeedEvent[] = [];
    for (let number = this.#next!; number < end; number++) {
      const event = this.#feed.get(number);
      if (!this.#types || this.#types.has(event.event.type)) events.push(event);
    }
    this.#next = end;
    return events;
  }

  /**
   * Reads pages from the store until they meet what the feed keeps. Reads all types, because the last event
   * of a page has to be found in the feed.
   */
  async *#pages(store: EventStore, following: Following, after: string): AsyncGenerator<FeedEvent[]> {
    let position = after;
    let last = after;
    // Where the feed ended after it had caught up with the pages; undefined if a page had events since.
    let end: number | undefined;
    for (;;) {
      const page = await store.eventPage({ after: position, limit: CATCH_UP_PAGE_SIZE });
      position = page.next;
      if (page.events.length > 0) {
        last = page.events.at(-1)!.id;
        end = undefined;
      }
      yield page.events.filter(({ type }) => !this.#types || this.#types.has(type)).map(toFeedEvent);
      if (!page.atEnd) continue;
      if (end === undefined) {
        await following.caughtUp();
        const known = this.#feed.indexOf(last);
        if (known === undefined) {
          // The feed began after the last event or has dropped it. An empty page from here on proves that
          // everything before this number is older.
          end = this.#feed.end();
          continue;
        }
        end = known + 1;
      }
      // Otherwise the feed has dropped events that came while this one was not read.
      if (end < this.#feed.first()) continue;
      this.#next = end;
      return;
    }
  }
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
