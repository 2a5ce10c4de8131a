import { eventJson } from '../domains/event/event.ts';
import { ownTurn } from '../foundation/turns.ts';
import type { EventRequest, EventStore, Following, StoredEvent } from '../store/events.ts';

/** Events per page while a reader catches up. */
const CATCH_UP_PAGE_SIZE = 100;

/** An event with its JSON text in REST form, which all readers share. */
export interface FeedEvent {
  event: StoredEvent;
  json: string;
  /** The length of the text in bytes. */
  bytes: number;
}

/** Which events to read. */
export type Selection = Omit<EventRequest, 'limit'>;

export function toFeedEvent(event: StoredEvent): FeedEvent {
  const json = eventJson(event);
  return { event, json, bytes: Buffer.byteLength(json) };
}

/** What a reader sees of the feed. */
export interface FeedView {
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

/** One reader of the log. It pulls events: from the feed if it keeps up, else from pages of the store. */
export class EventReader {
  readonly #feed: FeedView;
  readonly types: Selection['types'];
  /** The number of the next event to take; undefined while catching up. */
  #next: number | undefined;
  #first: FeedEvent[] = [];
  /** The position that it started after. */
  beginning = '';
  /** The position after what was read, which may not have been taken yet. */
  #position: string | undefined;
  /** The position up to which everything was taken or left out; undefined before the first event. */
  passed: string | undefined;
  /** Called when the reader fails, even while nobody is taking events. */
  onFailure: ((error: unknown) => void) | undefined;
  #failure: { error: unknown } | undefined;
  #catchUp: AsyncGenerator<FeedEvent[]> | undefined;
  #pagesAfter!: (position: string) => AsyncGenerator<FeedEvent[]>;

  constructor(feed: FeedView, types: Selection['types']) {
    this.#feed = feed;
    this.types = types;
  }

  /** Begins to read after a position. */
  async start(store: EventStore, following: Following, after: string): Promise<void> {
    this.beginning = after;
    this.#position = after;
    this.#pagesAfter = (position) => this.#pages(store, following, position);
    this.#catchUp = this.#pagesAfter(after);
    // Read the first page before the response starts, while an invalid position can still be reported.
    this.#first = await this.#page();
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
      // Whoever asks for more has taken what there was.
      if (this.#first.length === 0) this.passed = this.#position;
      if (this.#failure) throw this.#failure.error;
      if (this.#first.length > 0) return this.#first.splice(0);
      if (this.#next !== undefined && this.#next < this.#feed.first()) {
        this.#next = undefined;
        this.#catchUp = this.#pagesAfter(this.#position!);
      }
      const events = this.#next === undefined ? await this.#page() : this.#kept();
      if (events.length > 0) return events;
      // What failed while a page was read has woken nobody yet who waits from here on.
      if (this.#failure) continue;
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
      if (!this.types || this.types.includes(event.event.type)) events.push(event);
    }
    if (end > this.#next!) this.#position = this.#feed.get(end - 1).event.id;
    this.#next = end;
    return events;
  }

  /** Reads pages from the store until they meet what the feed keeps. */
  async *#pages(store: EventStore, following: Following, after: string): AsyncGenerator<FeedEvent[]> {
    let position = after;
    let last = after;
    // Where the feed ended after it had caught up with the pages; undefined if a page had events since.
    let end: number | undefined;
    for (;;) {
      const page = await store.eventPage({
        after: position,
        limit: CATCH_UP_PAGE_SIZE,
        ...(this.types && { types: this.types }),
      });
      position = page.next;
      this.#position = position;
      if (page.events.length > 0) {
        last = page.events.at(-1)!.id;
        end = undefined;
      }
      yield page.events.map(toFeedEvent);
      // Others are let in between the pages, also if the client reads as fast as they are written.
      await ownTurn();
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
      if (end >= this.#feed.first()) {
        this.#next = end;
        return;
      }
      // The feed has dropped events that came while this one was not read.
      end = undefined;
    }
  }
}
