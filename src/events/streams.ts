import {
  CLIENT_DISCONNECTED,
  isFault,
  type OpenStream,
  type OpenStreams,
  SERVER_STOPPING,
} from '../access/open-streams.ts';
import type { Session } from '../access/session.ts';
import type { MaybePromise } from '../foundation/turns.ts';
import { Meter } from '../foundation/meter.ts';
import type { EventStore } from '../store/events.ts';
import type { EventTypes } from './event-types.ts';
import { EventFeed, type EventReader, type FeedEvent, type WantedEvents } from './feed.ts';

/** The number of events per charge. */
const EVENTS_PER_CHARGE = 100;
/** The reason for the end of a long poll without events. */
const TIME_IS_OVER = new Error('There were no events.');

export interface StreamOptions {
  session: Session;
  /** Charges for opening it. */
  charge: () => MaybePromise<void>;
  wanted: WantedEvents;
  /** Units per {@link EVENTS_PER_CHARGE} events. */
  price: number;
  /** The id of the request in the log. */
  requestId?: string;
}

/** An open stream, charged for its events. */
export interface EventStream {
  /** The position in the log that it started after. */
  beginning: string;
  /** Aborted with the error that ends the stream, even while events are being sent. */
  ending: AbortController;
  /** The number of events sent so far. */
  sent: number;
  /** The meter for the events of the current charge. */
  meter: Meter;
  /**
   * Batches of at least one event. Endless; throws the error that ends it: RATE_LIMITED if the budget is exhausted,
   * API_KEY_BANNED, UNAUTHENTICATED after a revocation, GONE, CLIENT_DISCONNECTED, SERVER_STOPPING.
   */
  events: AsyncGenerator<readonly FeedEvent[], void>;
  /** Must be called once, at the end. */
  close(): void;
}

/** The open event streams of this process, over all transports. */
export class EventStreams {
  /** The log, followed once for all readers. */
  readonly feed: EventFeed;
  readonly #types: EventTypes;
  readonly #openStreams: OpenStreams;
  readonly #report: (error: unknown, requestId?: string) => void;
  /** The number of open event streams, including long polls. */
  size = 0;
  /** The number of events sent to readers. */
  sent = 0;

  /** @param report receives internal errors, which clients must never see */
  constructor(
    store: EventStore,
    types: EventTypes,
    openStreams: OpenStreams,
    report: (error: unknown, requestId?: string) => void,
  ) {
    this.#report = (error, requestId) => isFault(error) && report(error, requestId);
    this.feed = new EventFeed(store, types, this.#report);
    this.#types = types;
    this.#openStreams = openStreams;
  }

  /**
   * Opens a stream.
   *
   * @throws RATE_LIMITED if the plan allows no more open streams, what charging throws, and the store's errors for the
   *   position
   */
  async open({ session, charge, wanted, price, requestId }: StreamOptions): Promise<EventStream> {
    const { ending, close } = await this.#openStreams.open(session, charge);
    const reader = await this.feed.open(wanted, ending.signal).catch((error: unknown) => {
      close();
      throw error;
    });
    this.size++;
    const stream: EventStream = {
      beginning: reader.beginning,
      ending,
      sent: 0,
      meter: new Meter(price),
      events: paidEvents(reader, this.#types, ending.signal, session, price, (count, isPaidAnew) => {
        if (isPaidAnew) stream.meter = new Meter(price);
        stream.sent += count;
        this.sent += count;
      }),
      close: () => {
        this.size--;
        close();
        void reader.pages.return();
        const { aborted, reason } = ending.signal;
        if (aborted) this.#report(reason, requestId);
      },
    };
    return stream;
  }

  /**
   * Waits for a wanted event (long polling).
   *
   * @param wait the maximum wait, in milliseconds
   * @returns true if there is one; false if the time is over, the client has gone or the server stops
   * @throws the store's errors for the position; UNAUTHENTICATED, API_KEY_BANNED while waiting
   */
  async waitFor({ session, ending }: OpenStream, wanted: WantedEvents, wait: number): Promise<boolean> {
    const timer = setTimeout(() => ending.abort(TIME_IS_OVER), wait);
    this.size++;
    try {
      const types = this.#types.readable(session.principal, wanted.types);
      const { pages } = await this.feed.open({ ...wanted, ...(types && { types }) }, ending.signal);
      for await (const { events } of pages) if (events.length > 0) break;
      return true;
    } catch (error) {
      if (![TIME_IS_OVER, CLIENT_DISCONNECTED, SERVER_STOPPING].includes(error as Error)) throw error;
      return false;
    } finally {
      clearTimeout(timer);
      this.size--;
    }
  }
}

async function* paidEvents(
  { pages }: EventReader,
  types: EventTypes,
  signal: AbortSignal,
  session: Session,
  price: number,
  onSent: (count: number, isPaidAnew: boolean) => void,
): EventStream['events'] {
  let paid = 0;
  for await (let { events } of pages)
    for (;;) {
      signal.throwIfAborted();
      // The key may have changed since the events arrived.
      events = events.filter(({ event }) => types.mayRead(session.principal, event.type));
      if (events.length === 0) break;
      const isPaidAnew = paid === 0;
      if (isPaidAnew) {
        await session.charge(price);
        paid = EVENTS_PER_CHARGE;
      }
      const next = events.slice(0, paid);
      events = events.slice(paid);
      paid -= next.length;
      onSent(next.length, isPaidAnew);
      yield next;
    }
}
