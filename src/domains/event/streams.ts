import { PLANS } from '../../access/plans.ts';
import type { Session } from '../../access/session.ts';
import { AppError, unavailable } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { EventStore } from '../../store/events.ts';
import { EventFeed } from './feed.ts';
import { type EventReader, type FeedEvent, type Selection, SlowReaderError } from './reader.ts';

/** Events covered by one payment. */
const EVENTS_PER_PAYMENT = 100;
/** How often keys are checked, in milliseconds. Revocations and bans must take effect within 5 seconds. */
const CHECK_INTERVAL = 500;
/** Checking for a ban reads the store, so it is done less often. */
const CHECKS_PER_BAN_CHECK = 4;

/** Reasons that clients are not told about. */
export const CLIENT_DISCONNECTED = new Error('The client has disconnected.');
export const SERVER_STOPPING = new Error('The server is stopping.');

/** Why a stream ended, for the log. */
export function endReason(reason: unknown): string {
  if (reason === CLIENT_DISCONNECTED) return 'client gone';
  if (reason === SERVER_STOPPING) return 'stopping';
  if (reason instanceof SlowReaderError) return 'fell behind';
  return reason instanceof AppError ? reason.code : 'INTERNAL';
}

function isFault(reason: unknown): boolean {
  if (reason === CLIENT_DISCONNECTED || reason === SERVER_STOPPING) return false;
  return !(reason instanceof AppError) || reason.status >= 500;
}

const revoked = () => new AppError('UNAUTHENTICATED', 'The API key is no longer valid.');

export interface StreamOptions {
  session: Session;
  /** The key as sent. */
  key: string;
  selection: Selection;
  /** Units per {@link EVENTS_PER_PAYMENT} events. */
  cost: number;
  /** Names the stream in the log. */
  requestId?: string;
}

export interface EventStreamsOptions {
  store: EventStore;
  /** Whether the key is still valid. */
  isValid: (key: string) => MaybePromise<boolean>;
  /** Receives the internal errors that end streams, which clients must not see. */
  report: (error: unknown, requestId?: string) => void;
}

/** The event streams open in this process, over any transport. */
export class EventStreams {
  readonly #feed: EventFeed;
  readonly #isValid: EventStreamsOptions['isValid'];
  readonly #report: EventStreamsOptions['report'];
  readonly #open = new Set<EventStream>();
  readonly #perKey = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #checks = 0;
  #stopped = false;
  /** Events sent to readers. */
  sent = 0;
  /** Readers cut off for lagging. */
  cutOff = 0;

  constructor({ store, isValid, report }: EventStreamsOptions) {
    this.#feed = new EventFeed(store);
    this.#isValid = isValid;
    this.#report = report;
  }

  /** Number of open streams. */
  get size(): number {
    return this.#open.size;
  }

  /** How many milliseconds readers may be behind the latest commit. */
  get lag(): number {
    return this.#feed.lag;
  }

  /**
   * Opens a stream for a session that has paid for opening it.
   *
   * @throws RATE_LIMITED if the key has as many streams open as its plan allows; what the store throws for
   * the position
   */
  async open(options: StreamOptions): Promise<EventStream> {
    if (this.#stopped) throw unavailable(SERVER_STOPPING);
    const { principal } = options.session;
    const max = PLANS[principal.plan].streams;
    const count = this.#perKey.get(principal.id) ?? 0;
    if (count >= max) {
      throw new AppError('RATE_LIMITED', `The plan allows ${max} concurrent streams. Close one first.`, {
        retryAfter: 1,
      });
    }
    this.#perKey.set(principal.id, count + 1);
    try {
      const reader = await this.#feed.open(options.selection);
      const stream = new EventStream(reader, options, {
        sent: (events) => {
          this.sent += events;
        },
        closed: (failure) => {
          this.#open.delete(stream);
          this.#release(principal.id);
          if (failure instanceof SlowReaderError) this.cutOff++;
          else if (failure !== undefined && isFault(failure)) this.#report(failure, options.requestId);
        },
      });
      this.#open.add(stream);
      this.#timer ??= setInterval(() => void this.#checkKeys(), CHECK_INTERVAL).unref();
      if (this.#stopped) stream.fail(SERVER_STOPPING);
      return stream;
    } catch (error) {
      this.#release(principal.id);
      throw error;
    }
  }

  /** Ends all streams and refuses new ones. */
  stop(): void {
    this.#stopped = true;
    for (const stream of this.#open) stream.fail(SERVER_STOPPING);
  }

  #release(apiKeyId: string): void {
    const left = (this.#perKey.get(apiKeyId) ?? 1) - 1;
    if (left > 0) this.#perKey.set(apiKeyId, left);
    else this.#perKey.delete(apiKeyId);
    if (this.#perKey.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Ends the streams of keys that have been revoked or banned. */
  async #checkKeys(): Promise<void> {
    const looksForBans = this.#checks++ % CHECKS_PER_BAN_CHECK === 0;
    for (const [key, streams] of groupedByKey(this.#open)) {
      try {
        if (!(await this.#isValid(key))) for (const stream of streams) stream.fail(revoked());
        else if (looksForBans) await streams[0]!.checkBan();
      } catch (error) {
        // Only a ban ends streams; failing to check does not.
        if (error instanceof AppError && error.code === 'API_KEY_BANNED')
          for (const stream of streams) stream.fail(error);
      }
    }
  }
}

function groupedByKey(streams: Iterable<EventStream>): Map<string, EventStream[]> {
  const groups = new Map<string, EventStream[]>();
  for (const stream of streams) {
    const group = groups.get(stream.key);
    if (group) group.push(stream);
    else groups.set(stream.key, [stream]);
  }
  return groups;
}

interface Listeners {
  sent: (events: number) => void;
  closed: (failure: unknown) => void;
}

/** One open stream, which pays for its events. */
export class EventStream {
  readonly key: string;
  readonly #reader: EventReader;
  readonly #session: Session;
  readonly #cost: number;
  readonly #listeners: Listeners;
  /** Events paid for but not sent yet. */
  #paid = 0;
  #waiting: readonly FeedEvent[] = [];
  #failure: unknown;
  #isOpen = true;
  /** Events sent so far. */
  sent = 0;

  constructor(reader: EventReader, { session, key, cost }: StreamOptions, listeners: Listeners) {
    this.#reader = reader;
    this.#session = session;
    this.key = key;
    this.#cost = cost;
    this.#listeners = listeners;
  }

  /**
   * Waits for the next events and pays for them.
   *
   * @returns at least one event
   * @throws what ended the stream: RATE_LIMITED if the budget is exhausted, API_KEY_BANNED, UNAUTHENTICATED
   * after a revocation, SlowReaderError, GONE, CLIENT_DISCONNECTED, SERVER_STOPPING
   */
  async take(): Promise<readonly FeedEvent[]> {
    if (this.#waiting.length === 0) this.#waiting = await this.#reader.take();
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#paid === 0) {
      await this.#session.charge(this.#cost);
      this.#paid = EVENTS_PER_PAYMENT;
    }
    const events = this.#waiting.slice(0, this.#paid);
    this.#waiting = this.#waiting.slice(events.length);
    this.#paid -= events.length;
    this.sent += events.length;
    this.#listeners.sent(events.length);
    return events;
  }

  /** What ended the stream; undefined while it is open. */
  get failure(): unknown {
    return this.#failure;
  }

  /** @param listener called as soon as the stream fails, even in the middle of sending events */
  onFailure(listener: (error: unknown) => void): void {
    this.#reader.onFailure = (error) => {
      this.#failure ??= error;
      listener(error);
    };
  }

  /** Ends the stream with this error. */
  fail(error: unknown): void {
    this.#failure ??= error;
    this.#reader.fail(error);
  }

  /** @throws API_KEY_BANNED */
  checkBan(): MaybePromise<void> {
    return this.#session.charge(0);
  }

  /** Must be called when no more events are taken. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#reader.close();
    this.#listeners.closed(this.#failure);
  }
}
