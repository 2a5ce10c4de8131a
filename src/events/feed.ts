import { setTimeout as sleep } from 'node:timers/promises';
import { eventJson } from '../domains/event/event.ts';
import { isUnavailable } from '../foundation/errors.ts';
import { deferred } from '../foundation/maybe-promise.ts';
import { ownTurn } from '../foundation/turns.ts';
import {
  type EventPage,
  type EventRequest,
  type EventStore,
  NOW,
  type StoredEvent,
} from '../store/events.ts';

/** Events that are kept for readers who keep up. */
const KEPT = 1_000;
/** Events per page while a reader catches up. */
const CATCH_UP_PAGE_SIZE = 100;
/** Delay between attempts to follow the log further, in milliseconds. */
const FIRST_PAUSE = 100;
const MAX_PAUSE = 1_000;
/** How long events wait for more after others were told, in milliseconds: the longer the more readers there are. */
const MAX_DELAY = 50;
const DELAY_PER_READER = 0.05;

/** An event with its JSON text in REST form, which all who keep up share. */
export interface FeedEvent {
  event: StoredEvent;
  json: string;
}

const toFeedEvent = (event: StoredEvent): FeedEvent => ({ event, json: eventJson(event) });

/** Which events to read. */
export type Selection = Omit<EventRequest, 'limit'>;

/** What a reader has come to. */
export interface FeedPage {
  /** Empty every half second while there is nothing to read. */
  events: readonly FeedEvent[];
  /** The position after them, and after those that were left out. */
  next: string;
}

/** One reader of the log. */
export interface EventReader {
  /** The position that it started after. */
  beginning: string;
  /** Without an end; throws what ends it. Whoever pulls no more has to return from it, as `for await` does. */
  pages: AsyncGenerator<FeedPage, void>;
}

/**
 * The event log for the readers of this process. The store is followed once, however many readers there
 * are. The latest events are kept for those who keep up; whoever is further back reads pages from the store
 * until it comes to them, so that memory is bounded and nobody is cut off.
 */
export class EventFeed {
  readonly #store: EventStore;
  readonly #report: (error: unknown) => void;
  #readers = 0;
  #isFollowing = false;
  /** The latest events, and the position that they come after. */
  #kept: FeedEvent[] = [];
  #start = '';
  /** Changes whenever there is more to read. */
  #state = 0;
  /** Resolves when there may be, and at least every half second. */
  #told = deferred();
  #answeredAt = 0;
  #delay = 0;

  /** @param report receives the errors of following the log, unless the database is away */
  constructor(store: EventStore, report: (error: unknown) => void) {
    this.#store = store;
    this.#report = report;
  }

  /** How many milliseconds readers may be behind the latest commit; 0 without readers. */
  get lag(): number {
    return this.#readers > 0 ? this.#delay + performance.now() - this.#answeredAt : 0;
  }

  /**
   * Opens a reader of the events after `after`, or of those committed from now on without it or with {@link NOW}.
   *
   * @param signal ends it, also while it waits
   * @throws VALIDATION_FAILED, GONE, UNAVAILABLE as {@link EventStore} does
   */
  async open({ after = NOW, types }: Selection, signal: AbortSignal): Promise<EventReader> {
    const state = this.#state;
    // Reads the first page before the response starts, while an invalid position can still be reported.
    const first = await this.#pageAfter(after, types);
    signal.addEventListener('abort', () => this.#tell());
    const pages = this.#read(first, first.atEnd ? state : undefined, types, signal);
    return { beginning: after === NOW ? first.next : after, pages };
  }

  #pageAfter(after: string, types: Selection['types']): Promise<EventPage> {
    return this.#store.eventPage({ after, limit: CATCH_UP_PAGE_SIZE, ...(types && { types }) });
  }

  /** @param seen the state in which there is nothing after `first`, if that is known */
  async *#read(
    first: EventPage,
    seen: number | undefined,
    types: Selection['types'],
    signal: AbortSignal,
  ): EventReader['pages'] {
    let { next } = first;
    this.#readers++;
    try {
      if (!this.#isFollowing) void this.#follow();
      for (let events = first.events.map(toFeedEvent); ;) {
        yield { events, next };
        signal.throwIfAborted();
        const state = this.#state;
        if (seen === state) {
          events = [];
          await this.#told.promise;
          continue;
        }
        const kept = this.#after(next);
        if (kept) {
          seen = state;
          next = kept.at(-1)?.event.id ?? next;
          events = types ? kept.filter(({ event }) => types.includes(event.type)) : kept;
        } else {
          const page = await this.#pageAfter(next, types).catch((error: unknown) => {
            if (!isUnavailable(error)) throw error;
          });
          if (page?.atEnd) seen = state;
          next = page?.next ?? next;
          events = page?.events.map(toFeedEvent) ?? [];
          // Others are let in between the pages, also if the client reads as fast as they are written.
          await (page ? ownTurn() : this.#told.promise);
        }
      }
    } finally {
      this.#readers--;
    }
  }

  /** The kept events after a position; undefined if it is not among them. */
  #after(position: string): FeedEvent[] | undefined {
    const index = this.#kept.findLastIndex(({ event }) => event.id === position);
    return index < 0 && position !== this.#start ? undefined : this.#kept.slice(index + 1);
  }

  /** Lets who waits look at what has changed. */
  #tell(): void {
    const { resolve } = this.#told;
    this.#told = deferred();
    resolve();
  }

  /** Follows the log for as long as there are readers, across failovers. */
  async #follow(): Promise<void> {
    this.#isFollowing = true;
    this.#answeredAt = performance.now();
    let position: string | undefined;
    for (let pause = FIRST_PAUSE; this.#readers > 0; pause = Math.min(MAX_PAUSE, pause * 2)) {
      try {
        position ??= await this.#begin();
        for await (const page of this.#store.followEvents(position)) {
          position = page.next;
          pause = FIRST_PAUSE;
          this.#add(page.events);
          if (this.#readers === 0) break;
          const delay = Math.min(MAX_DELAY, this.#readers * DELAY_PER_READER);
          if (page.atEnd && page.events.length > 0) await sleep(delay);
        }
      } catch (error) {
        if (!isUnavailable(error)) {
          // Readers go on from where they are, or learn that it is gone.
          position = undefined;
          this.#report(error);
        }
      }
      if (this.#readers > 0) await sleep(pause);
    }
    this.#isFollowing = false;
    this.#kept = [];
  }

  /** @returns the position at the end of the log, after which events are kept from now on */
  async #begin(): Promise<string> {
    this.#start = (await this.#store.eventPage({ after: NOW, limit: 1 })).next;
    this.#kept = [];
    this.#state++;
    this.#tell();
    return this.#start;
  }

  #add(events: readonly StoredEvent[]): void {
    const last = events.at(-1);
    this.#answeredAt = performance.now();
    this.#delay = last ? Math.max(0, Date.now() - last.time) : 0;
    this.#kept.push(...events.map(toFeedEvent));
    const dropped = this.#kept.splice(0, this.#kept.length - KEPT);
    this.#start = dropped.at(-1)?.event.id ?? this.#start;
    if (last) this.#state++;
    this.#tell();
  }
}
