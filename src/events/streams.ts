import { setTimeout as sleep } from 'node:timers/promises';
import { CLIENT_DISCONNECTED, isFault, type OpenStreams, SERVER_STOPPING } from '../access/open-streams.ts';
import type { Session } from '../access/session.ts';
import { mayReadEvent, readableTypes } from '../domains/event/event.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { EventStore } from '../store/events.ts';
import { EventFeed } from './feed.ts';
import type { EventReader, Selection } from './reader.ts';
import type { FeedEvent } from './tail.ts';

/** Events covered by one payment. */
const EVENTS_PER_PAYMENT = 100;

export interface StreamOptions {
  session: Session;
  selection: Selection;
  /** Units per {@link EVENTS_PER_PAYMENT} events. */
  cost: number;
  /** Names the stream in the log. */
  requestId?: string;
}

export interface PollOptions extends Omit<StreamOptions, 'cost'> {
  /** How long to wait for events, in milliseconds. */
  wait: number;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

/** What a poll knows of the page it answers with. */
export interface PolledPage {
  isEmpty: boolean;
  /** The position to continue from. */
  next: string;
}

export interface EventStreamsOptions {
  store: EventStore;
  openStreams: OpenStreams;
  /** Receives the internal errors that end streams, which clients must not see. */
  report: (error: unknown, requestId?: string) => void;
}

/** The event streams open in this process, over any transport. */
export class EventStreams {
  /** The log, which is followed once for all who read at its end. */
  readonly feed: EventFeed;
  readonly #openStreams: OpenStreams;
  readonly #report: EventStreamsOptions['report'];
  /** Number of open event streams, long polls included. */
  size = 0;
  /** Events sent to readers. */
  sent = 0;

  constructor({ store, openStreams, report }: EventStreamsOptions) {
    this.feed = new EventFeed(store);
    this.#openStreams = openStreams;
    this.#report = report;
  }

  /** How many milliseconds readers may be behind the latest commit. */
  get lag(): number {
    return this.feed.lag;
  }

  /**
   * Opens a stream for a session that has paid for opening it.
   *
   * @throws RATE_LIMITED if the key has as many streams open as its plan allows; what the store throws for
   * the position
   */
  async open(options: StreamOptions): Promise<EventStream> {
    const { requestId } = options;
    const { ending, close } = this.#openStreams.open(options.session);
    try {
      const reader = await this.feed.open(options.selection, ending);
      this.size++;
      return new EventStream(reader, options, this, (failure) => {
        this.size--;
        close();
        if (failure !== undefined && isFault(failure)) this.#report(failure, requestId);
      });
    } catch (error) {
      close();
      throw error;
    }
  }

  /**
   * Long polling: answers with the first page that has events, or with an empty one when the time is over, the
   * client has gone or the server stops. Counts as an open stream.
   *
   * @param read reads the page after a position
   * @throws what `read` and {@link open} throw; UNAUTHENTICATED, API_KEY_BANNED while it waits
   */
  async poll<P extends PolledPage>(
    { session, selection, wait, signal }: PollOptions,
    read: (after: string | undefined) => MaybePromise<P>,
  ): Promise<P> {
    const { ending, close } = this.#openStreams.open(session);
    this.size++;
    try {
      const page = await read(selection.after);
      if (!page.isEmpty) return page;
      const end = AbortSignal.any([ending.signal, signal]);
      const types = readableTypes(session.principal, selection.types);
      const ahead = { ...selection, ...(types && { types }), after: page.next };
      const reader = await this.feed.open(ahead, ending);
      try {
        await Promise.race([reader.take(), sleep(wait, undefined, { signal: end })]);
      } catch (error) {
        const { reason } = ending.signal;
        if (!end.aborted) throw error;
        if (reason !== undefined && reason !== SERVER_STOPPING) throw reason;
        return page;
      } finally {
        // Whichever lost the race ends too.
        ending.abort(CLIENT_DISCONNECTED);
        reader.close();
      }
      return await read(page.next);
    } finally {
      this.size--;
      close();
    }
  }
}

/** One open stream, which pays for its events. */
export class EventStream {
  readonly #reader: EventReader;
  readonly #session: Session;
  readonly #cost: number;
  readonly #all: EventStreams;
  readonly #onClose: (failure: unknown) => void;
  /** Events paid for but not sent yet. */
  #paid = 0;
  #waiting: readonly FeedEvent[] = [];
  #isOpen = true;
  /** Events sent so far. */
  sent = 0;

  /** @param all those open in this process */
  constructor(
    reader: EventReader,
    { session, cost }: StreamOptions,
    all: EventStreams,
    onClose: (failure: unknown) => void,
  ) {
    this.#reader = reader;
    this.#session = session;
    this.#cost = cost;
    this.#all = all;
    this.#onClose = onClose;
  }

  /**
   * Waits for the next events and pays for them.
   *
   * @returns at least one event
   * @throws what ended the stream: RATE_LIMITED if the budget is exhausted, API_KEY_BANNED, UNAUTHENTICATED
   * after a revocation, GONE, CLIENT_DISCONNECTED, SERVER_STOPPING
   */
  async take(): Promise<readonly FeedEvent[]> {
    do {
      if (this.#waiting.length === 0) this.#waiting = await this.#reader.take();
      this.ending.signal.throwIfAborted();
      // The key may have changed since they came.
      this.#waiting = this.#readable(this.#waiting);
    } while (this.#waiting.length === 0);
    if (this.#paid === 0) {
      await this.#session.charge(this.#cost);
      this.#paid = EVENTS_PER_PAYMENT;
    }
    const events = this.#waiting.slice(0, this.#paid);
    this.#waiting = this.#waiting.slice(events.length);
    this.#paid -= events.length;
    this.sent += events.length;
    this.#all.sent += events.length;
    return events;
  }

  #readable(events: readonly FeedEvent[]): readonly FeedEvent[] {
    const { principal } = this.#session;
    if (principal.scopes === undefined) return events;
    return events.filter(({ event }) => mayReadEvent(principal, event.type));
  }

  /** Aborted with what ends it, in the middle of sending events too. */
  get ending(): AbortController {
    return this.#reader.ending;
  }

  /** The position in the log that it started after. */
  get beginning(): string {
    return this.#reader.beginning;
  }

  /** What ended the stream; undefined while it is open. */
  get failure(): unknown {
    return this.ending.signal.reason;
  }

  /** Must be called when no more events are taken. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#reader.close();
    this.#onClose(this.failure);
  }
}
