import { eventJson } from '../domains/event/event.ts';
import { deferred } from '../foundation/maybe-promise.ts';
import type { EventPage, StoredEvent } from '../store/events.ts';

/** Events that are kept for readers who keep up. */
const KEPT = 1_000;
/** How long events wait for more before readers are woken, in milliseconds. */
const MAX_DELAY = 50;
const DELAY_PER_READER = 0.05;

/** An event with its JSON text in REST form, which all readers share. */
export interface FeedEvent {
  event: StoredEvent;
  json: string;
}

export const toFeedEvent = (event: StoredEvent): FeedEvent => ({ event, json: eventJson(event) });

/** The latest events of the log, numbered in order of arrival, and who waits for more. */
export class Tail {
  /** How many may wait. */
  readers = 0;
  /** The number of the oldest event kept. */
  first = 0;
  /** How often the end of the log was reached. */
  ends = 0;
  #events: FeedEvent[] = [];
  #changed = deferred();
  #reached = deferred();
  #timer: NodeJS.Timeout | undefined;

  /** The number of the next event to arrive. */
  get end(): number {
    return this.first + this.#events.length;
  }

  /** The events from this number on. */
  from(number: number): readonly FeedEvent[] {
    return this.#events.slice(number - this.first);
  }

  /** The number that follows the event with this id, if it is kept. */
  after(id: string): number | undefined {
    const index = this.#events.findLastIndex(({ event }) => event.id === id);
    return index < 0 ? undefined : this.first + index + 1;
  }

  /** Resolves when there are new events, or what waits is woken. */
  changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Resolves when the end of the log is reached. */
  reached(): Promise<void> {
    return this.#reached.promise;
  }

  /** Wakes the readers, together for what comes in a moment that is longer the more there are. */
  wake(): void {
    this.#timer ??= setTimeout(
      () => {
        this.#timer = undefined;
        const { resolve } = this.#changed;
        this.#changed = deferred();
        resolve();
      },
      Math.min(MAX_DELAY, this.readers * DELAY_PER_READER),
    );
  }

  add({ events, atEnd }: EventPage): void {
    this.#events.push(...events.map(toFeedEvent));
    this.first += this.#events.splice(0, this.#events.length - KEPT).length;
    if (events.length > 0) this.wake();
    if (!atEnd) return;
    this.ends++;
    this.#reached.resolve();
    this.#reached = deferred();
  }

  /** Forgets all events. */
  clear(): void {
    this.first += this.#events.length;
    this.#events = [];
  }
}
