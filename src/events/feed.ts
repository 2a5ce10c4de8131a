/*
 * Timeline of a reader (`#read`) beside the one follower of the log (`#follow`):
 *
 *   catching up  The reader's position is not among the kept events: it reads pages from the store, one per turn.
 *   keeping up   Its position is a kept event or their start: it takes all later events from memory.
 *   waiting      It has seen everything in this `#state`: it sleeps until `#tell`, yields an empty page and looks again.
 *
 * No event is lost between these: a reader notes `#state` before it reads, and the follower changes `#state` after it has
 * added events. An event committed after a reader's last page is added later, so the reader looks again. When the follower
 * restarts, `#state` changes too: readers at any other position than its start return to catching up, and read what was
 * committed meanwhile from the store. So does a slow reader whose position drops out of the kept events.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '../foundation/errors.ts';
import { deferred, ownTurn } from '../foundation/turns.ts';
import {
  type EventPage,
  type EventRequest,
  type EventStore,
  NOW,
  type StoredEvent,
} from '../store/events.ts';
import type { EventTypes } from './event-types.ts';

/** The number of latest events kept in memory. */
const KEPT = 1_000;
/** The number of events per page while a reader catches up. */
const CATCH_UP_PAGE_SIZE = 100;
/** The first and the longest delay between attempts to follow the log, in milliseconds. */
const FIRST_PAUSE = 100;
const MAX_PAUSE = 1_000;
/**
 * The maximum delay after notifying readers, and the delay per reader, in milliseconds: more events gather meanwhile.
 */
const MAX_DELAY = 50;
const DELAY_PER_READER = 0.05;

/** An event with its JSON text in REST form, shared by all readers that keep up. */
export interface FeedEvent {
  event: StoredEvent;
  json: string;
}

/** The events to read: after a position, and of all or some types. */
export type WantedEvents = Pick<EventRequest, 'after' | 'types'>;

/** The next events of a reader. */
export interface FeedPage {
  /** Empty every half second while there is nothing to read. */
  events: readonly FeedEvent[];
  /** The position after these events, and after those that were left out. */
  next: string;
}

/** One reader of the log. */
export interface EventReader {
  /** The position that reading started after. */
  beginning: string;
  /** Endless; throws the error that ends it. Whoever stops reading must call `return`, as `for await` does. */
  pages: AsyncGenerator<FeedPage, void>;
}

/**
 * The event log for the readers of this process. The store is followed once for all of them. The latest events are kept
 * for readers that keep up; others read pages from the store until they catch up, so memory is bounded and no reader is
 * cut off.
 */
export class EventFeed {
  readonly #store: EventStore;
  readonly #toFeedEvent: (event: StoredEvent) => FeedEvent;
  readonly #report: (error: unknown) => void;
  #readers = 0;
  #isFollowing = false;
  /** The latest events, and the position before them. */
  #kept: FeedEvent[] = [];
  #start = '';
  /** Changes whenever there may be more to read. */
  #state = 0;
  /** Resolves when readers should look again, at least every half second. */
  #told = deferred();
  #answeredAt = 0;
  #delay = 0;

  /** @param report receives errors of following the log, except if the database is unreachable */
  constructor(store: EventStore, types: EventTypes, report: (error: unknown) => void) {
    this.#store = store;
    this.#toFeedEvent = (event) => ({ event, json: types.jsonOf(event) });
    this.#report = report;
  }

  /** The time that readers may be behind the latest commit, in milliseconds; 0 without readers. */
  get lag(): number {
    return this.#readers > 0 ? this.#delay + performance.now() - this.#answeredAt : 0;
  }

  /**
   * Opens a reader of the events after `after`, by default ({@link NOW}) of those committed from now on.
   *
   * @param signal ends the reader, even while it waits
   * @throws VALIDATION_FAILED, GONE, UNAVAILABLE, like {@link EventStore}
   */
  async open({ after = NOW, types }: WantedEvents, signal: AbortSignal): Promise<EventReader> {
    const state = this.#state;
    // Reads the first page before the response starts, so that an invalid position can still be reported.
    const first = await this.#pageAfter(after, types);
    signal.addEventListener('abort', () => this.#tell());
    const pages = this.#read(first, first.atEnd ? state : undefined, types, signal);
    return { beginning: after === NOW ? first.next : after, pages };
  }

  #pageAfter(after: string, types: WantedEvents['types']): Promise<EventPage> {
    return this.#store.eventPage({ after, limit: CATCH_UP_PAGE_SIZE, ...(types && { types }) });
  }

  /** @param seen the state with nothing after `first`, if known */
  async *#read(
    first: EventPage,
    seen: number | undefined,
    types: WantedEvents['types'],
    signal: AbortSignal,
  ): EventReader['pages'] {
    let { next } = first;
    this.#readers++;
    try {
      if (!this.#isFollowing) void this.#follow();
      let events = first.events.map(this.#toFeedEvent);
      while (true) {
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
          events = page?.events.map(this.#toFeedEvent) ?? [];
          // Yields between pages, even if the client reads as fast as they are written.
          await (page ? ownTurn() : this.#told.promise);
        }
      }
    } finally {
      this.#readers--;
    }
  }

  /** The kept events after a position; undefined if the position is not among them. */
  #after(position: string): FeedEvent[] | undefined {
    const index = this.#kept.findLastIndex(({ event }) => event.id === position);
    return index < 0 && position !== this.#start ? undefined : this.#kept.slice(index + 1);
  }

  /** Wakes waiting readers. */
  #tell(): void {
    const { resolve } = this.#told;
    this.#told = deferred();
    resolve();
  }

  /** Follows the log, across failovers, as long as there are readers. */
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
          // Readers continue from their own positions, or get the error for them.
          position = undefined;
          this.#report(error);
        }
      }
      if (this.#readers > 0) await sleep(pause);
    }
    this.#isFollowing = false;
    this.#kept = [];
  }

  /** Starts keeping events, from the end of the log. @returns that position */
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
    this.#kept.push(...events.map(this.#toFeedEvent));
    const dropped = this.#kept.splice(0, this.#kept.length - KEPT);
    this.#start = dropped.at(-1)?.event.id ?? this.#start;
    if (last) this.#state++;
    this.#tell();
  }
}
