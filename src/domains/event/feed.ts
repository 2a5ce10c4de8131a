import { AppError } from '../../errors.ts';
import type { MaybePromise } from '../../maybe-promise.ts';
import type { EventRequest, EventStore, EventType, Following, StoredEvent } from '../../store/events.ts';
import { eventJson } from './event.ts';

/** How far a reader may fall behind. */
const MAX_LAG = { events: 1_000, bytes: 1_000_000 };
/** Events of one page while a reader catches up with the log. */
const CATCH_UP_PAGE_SIZE = 100;
/** Readers are told of events together; the more there are, the less often, up to this many milliseconds. */
const MAX_NOTIFY_INTERVAL = 50;
const NOTIFY_INTERVAL_PER_READER = 0.05;

/** An event with its REST form as JSON text, which is written once for all readers. */
export interface FeedEvent {
  event: StoredEvent;
  json: string;
}

/** Which events to read. */
export type Selection = Omit<EventRequest, 'limit'>;

/** How a reader ends whose client did not keep up. */
export class SlowReaderError extends AppError {
  constructor() {
    super('UNAVAILABLE', 'The reader fell behind the log of changes. Read on from the last event it got.', {
      retryAfter: 1,
    });
  }
}

const toFeedEvent = (event: StoredEvent): FeedEvent => ({ event, json: eventJson(event) });

/**
 * The log of changes for the readers of this process: it is followed once, however many read. Its latest events are kept as
 * long as no reader may be further behind; who is further back reads pages of the store until it has caught up.
 */
export class EventFeed {
  readonly #store: EventStore;
  readonly #readers = new Set<EventReader>();
  #following: Promise<Following> | undefined;
  /** The latest events, the oldest first. */
  #events: FeedEvent[] = [];
  #bytes = 0;
  /** How many events have left `#events`: the number of its first one. */
  #first = 0;
  #changed = deferred();
  #timer: NodeJS.Timeout | undefined;
  #notifiedAt = 0;
  #lag: (() => number) | undefined;

  constructor(store: EventStore) {
    this.#store = store;
  }

  /** How many milliseconds the readers may be behind what is committed; 0 while there are none. */
  get lag(): number {
    return this.#lag?.() ?? 0;
  }

  /**
   * A reader of what is behind `after`, or of what is committed from now on.
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

  /** What readers see of the feed. */
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
      () => {
        if (this.#following === following) this.#following = undefined;
      },
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

  /** Wakes the readers: at once after a pause, and in a rush now and then, each with all there is. */
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
        // By then all of them have taken theirs: the longer that takes, the less often they are told.
        setImmediate(() => {
          this.#notifiedAt = performance.now();
        });
      },
      Math.max(0, this.#notifiedAt + wait - performance.now()),
    );
  }

  #end(error: unknown): void {
    // Some readers take their time to leave: who comes meanwhile must not be told of events by what has ended.
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

interface FeedView {
  /** The number of the oldest event that is kept; events are numbered as they come. */
  first(): number;
  /** The number of the next event that will come. */
  end(): number;
  get(number: number): FeedEvent;
  /** The number of the event with an id, if it is kept. */
  indexOf(id: string): number | undefined;
  /** Resolves when there are more. */
  changed(): Promise<void>;
  /** Lets those who wait look again. */
  wake(): void;
  left(reader: EventReader): void;
}

/** One reader of the log. It is told of events when it asks for them: what it has not asked for yet is what it is behind. */
export class EventReader {
  readonly #feed: FeedView;
  readonly #types: ReadonlySet<EventType> | undefined;
  readonly #after: string | undefined;
  /** The number of the next event to take; undefined while it catches up. */
  #next: number | undefined;
  #first: FeedEvent[] = [];
  /** Told once the reader has failed, whether it is asked for events or not. */
  onFailure: ((error: unknown) => void) | undefined;
  #failure: { error: unknown } | undefined;
  #catchUp: AsyncGenerator<FeedEvent[]> | undefined;

  constructor(feed: FeedView, { after, types }: Selection) {
    this.#feed = feed;
    this.#after = after;
    this.#types = types && new Set(types);
  }

  /** Takes its place in the log. */
  async start(store: EventStore, following: Following): Promise<void> {
    if (this.#after === undefined) {
      this.#next = this.#feed.end();
      return;
    }
    this.#catchUp = this.#pages(store, following, this.#after);
    // The first page is read before anything is answered: then what is wrong with the position can still be told.
    const { value, done } = await this.#catchUp.next();
    if (!done) this.#first = value;
  }

  /** Whether what it has to take next is older than an event of this number. */
  isBefore(number: number): boolean {
    return this.#next !== undefined && this.#next < number;
  }

  /** Ends the reader: its next answer is this error. */
  fail(error: unknown): void {
    if (this.#failure) return;
    this.#failure = { error };
    this.onFailure?.(error);
    this.#feed.wake();
  }

  close(): void {
    this.#feed.left(this);
  }

  /** The next events, at least one; waits for them. @throws what it was ended with */
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
   * Reads the store until nothing lies between its pages and what the feed keeps. All types are read, since the last event of a
   * page is what is looked for in the feed.
   */
  async *#pages(store: EventStore, following: Following, after: string): AsyncGenerator<FeedEvent[]> {
    let position = after;
    let last = after;
    for (;;) {
      const page = await store.eventPage({ after: position, limit: CATCH_UP_PAGE_SIZE });
      position = page.next;
      last = page.events.at(-1)?.id ?? last;
      // What is committed from here on comes behind this number, if it isn't there already.
      const end = this.#feed.end();
      yield page.events.filter(({ type }) => !this.#types || this.#types.has(type)).map(toFeedEvent);
      if (!page.atEnd) continue;
      // Then the feed has all that the pages had: the last of that is where to go on, or everything before `end` is older.
      const settled: MaybePromise<void> = following.caughtUp();
      if (settled) await settled;
      const known = this.#feed.indexOf(last);
      const next = known === undefined ? end : known + 1;
      if (next < this.#feed.first()) continue;
      this.#next = next;
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
