import { ownTurn } from '../foundation/turns.ts';
import { type EventRequest, type EventStore, NOW } from '../store/events.ts';
import { type FeedEvent, type Tail, toFeedEvent } from './tail.ts';

/** Events per page while a reader catches up. */
const CATCH_UP_PAGE_SIZE = 100;

/** Which events to read. */
export type Selection = Omit<EventRequest, 'limit'>;

/** One reader of the log. It pulls events: from the feed if it keeps up, else from pages of the store. */
export class EventReader {
  readonly #store: EventStore;
  readonly #tail: Tail;
  readonly types: Selection['types'];
  readonly #events = this.#read();
  /** What was read before the first was taken. */
  #first: FeedEvent[] = [];
  /** The position that it started after. */
  beginning = '';
  /** The position after what was read, which may not have been taken yet. */
  #position = '';
  /** The position up to which everything was taken or left out; undefined before the first event. */
  passed: string | undefined;
  /** Ends the reader with an error, even while nobody is taking events. */
  readonly ending: AbortController;
  readonly close: () => void;

  constructor(
    store: EventStore,
    tail: Tail,
    types: Selection['types'],
    ending: AbortController,
    close: () => void,
  ) {
    this.#store = store;
    this.#tail = tail;
    this.types = types;
    this.ending = ending;
    this.close = close;
    ending.signal.addEventListener('abort', () => tail.wake());
  }

  /** Begins to read after a position. */
  async start(after: string): Promise<void> {
    this.#position = after;
    // Read the first page before the response starts, while an invalid position can still be reported.
    this.#first = (await this.#events.next()).value;
    this.beginning = after === NOW ? this.#position : after;
  }

  /** Waits for the next events. @returns at least one @throws the error that ended the reader */
  async take(): Promise<readonly FeedEvent[]> {
    for (let events = this.#first.splice(0); ; events = (await this.#events.next()).value) {
      // Whoever asks for more has taken what there was.
      if (events.length === 0) this.passed = this.#position;
      this.ending.signal.throwIfAborted();
      if (events.length > 0) return events;
    }
  }

  /** Reads on without an end. May find nothing, and does once it is to end. */
  async *#read(): AsyncGenerator<FeedEvent[], never> {
    for (;;) {
      let number = yield* this.#pages();
      while (number >= this.#tail.first) {
        const events = this.#tail.from(number);
        number = this.#tail.end;
        this.#position = events.at(-1)?.event.id ?? this.#position;
        yield events.filter(({ event }) => this.types?.includes(event.type) ?? true);
        // What ended it meanwhile has woken nobody yet who waits from here on.
        if (!this.ending.signal.aborted && number === this.#tail.end) await this.#tail.changed();
      }
    }
  }

  /**
   * Reads pages from the store until they meet what the feed keeps.
   *
   * @returns the number of the event in the feed that is next
   */
  async *#pages(): AsyncGenerator<FeedEvent[], number> {
    const tail = this.#tail;
    let last = this.#position;
    // When the feed has got all that a page could have: it has asked for what comes next since, and reached the end.
    let due: number | undefined;
    for (;;) {
      const { end } = tail;
      const isPassed = due !== undefined && tail.ends >= due;
      const page = await this.#store.eventPage({
        after: this.#position,
        limit: CATCH_UP_PAGE_SIZE,
        ...(this.types && { types: this.types }),
      });
      this.#position = page.next;
      if (page.events.length > 0) {
        last = page.events.at(-1)!.id;
        due = undefined;
      }
      due ??= tail.ends + 2;
      yield page.events.map(toFeedEvent);
      // Others are let in between the pages, also if the client reads as fast as they are written.
      await ownTurn();
      if (!page.atEnd) continue;
      // Then all that the feed had before an empty page is older.
      if (isPassed && page.events.length === 0) return end;
      for (;;) {
        // What ended it while it read has woken nobody who waits from here on.
        if (this.ending.signal.aborted) yield [];
        const number = tail.after(last);
        if (number !== undefined) return number;
        if (tail.end !== end || tail.ends >= due) break;
        await Promise.race([tail.changed(), tail.reached()]);
      }
    }
  }
}
