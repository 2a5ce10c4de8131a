import type { Session, UsageSubject } from '../../access/session.ts';
import type { Clock } from '../../foundation/clock.ts';
import { AppError } from '../../foundation/errors.ts';
import type { MaybePromise } from '../../foundation/maybe-promise.ts';
import type { Store } from '../../store/store.ts';
import type { DisabledReason, Webhook, WebhookAttempt, WebhookProgress } from '../../store/webhooks.ts';
import { readableTypes } from '../event/event.ts';
import type { EventFeed } from '../event/feed.ts';
import { type EventReader, type FeedEvent, SlowReaderError } from '../event/reader.ts';
import type { Outcome } from './request.ts';
import type { Targets } from './targets.ts';
import { MAX_ATTEMPTS } from './webhook.ts';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
/** Waits after the first, second … failure of an event in milliseconds; the last one repeats. */
const WAITS = [1, 5, 15, 60, 300, 900, 1_800, 3_600].map((seconds) => seconds * SECOND);
/** Waits are up to this much shorter or longer, so that receivers are not hit by all at once. */
const JITTER = 0.2;
/** A webhook that has failed for this long is disabled, in milliseconds. */
const MAX_FAILING_TIME = 72 * HOUR;
/** Attempts covered by one unit. */
const ATTEMPTS_PER_PAYMENT = 10;
/** What attempts are counted as. */
const SUBJECT: UsageSubject = { transport: 'webhook', operations: [{ name: 'events', units: 1 }] };
/** How often progress is saved at most, in milliseconds: a kill repeats what was acknowledged since. */
const SAVE_INTERVAL = SECOND;
/** How long to wait for a database that is away, and at most for budget before looking again. */
const [AWAY_PAUSE, MAX_BUDGET_PAUSE] = [SECOND, MINUTE];
/** How often to look for the lease. */
const LEASE_PAUSE = 100;

export interface DeliveryServices {
  store: Store;
  feed: EventFeed;
  targets: Targets;
  clock: Clock;
  /** A session of the key with this id; null if it is not valid any more. */
  sessionOf: (apiKeyId: string) => MaybePromise<Session | null>;
  log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  report: (error: unknown) => void;
}

/** What deliveries share with each other. */
export interface DeliveryHost {
  readonly services: DeliveryServices;
  /** Whether an attempt may begin: it would end before the lease does. */
  readonly holdsLease: boolean;
  /** Sends an event once and counts the attempt. */
  attempt(
    webhook: Webhook,
    event: { id: string; body: string },
  ): Promise<{ attempt: WebhookAttempt; outcome: Outcome }>;
  /** Saves what a delivery has done. @returns whether it may go on */
  save(webhook: Webhook, reason?: DisabledReason): Promise<boolean>;
}

export const withAttempt = (
  attempts: readonly WebhookAttempt[],
  attempt: WebhookAttempt,
): readonly WebhookAttempt[] => [attempt, ...attempts].slice(0, MAX_ATTEMPTS);

/** Delivers the events of one webhook, one after the other, as long as this process holds it. */
export class Delivery {
  readonly #deliveries: DeliveryHost;
  readonly #webhook: Webhook;
  readonly #stopping = new AbortController();
  #progress: WebhookProgress;
  #savedAt = Number.NEGATIVE_INFINITY;
  #saveTimer: NodeJS.Timeout | undefined;
  #reader: EventReader | undefined;
  /** How long to wait before the next attempt. */
  #wait = 0;
  #done: Promise<void> = Promise.resolve();
  isRunning = true;
  /** When the event was committed that is being delivered; undefined if there is none. */
  pendingSince: number | undefined;

  constructor(webhook: Webhook, deliveries: DeliveryHost, former?: Delivery) {
    this.#webhook = webhook;
    this.#deliveries = deliveries;
    this.#progress = webhook.progress;
    // What was acknowledged before its owner changed something else.
    if (former && former.#progress.moves === webhook.progress.moves) {
      const { after, attempted, attempts } = former.#progress;
      this.#progress = { ...webhook.progress, after, attempted, attempts };
    }
    const { failing } = webhook.progress;
    if (failing) {
      // No longer than it can be, wherever the clock has been set since.
      const wait = failing.nextAttemptAt - deliveries.services.clock.now();
      this.#wait = Math.min(Math.max(0, wait), WAITS.at(-1)! * (1 + JITTER));
    }
  }

  get version(): number {
    return this.#webhook.version;
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  run(): void {
    this.#done = this.#run()
      .catch(this.#deliveries.services.report)
      .finally(() => {
        this.isRunning = false;
      });
  }

  /** Finishes the attempt under way and saves the place. */
  async stop(): Promise<void> {
    this.#abort();
    await this.#done;
  }

  /** Lists an attempt made elsewhere. */
  async record(attempt: WebhookAttempt): Promise<void> {
    this.#progress = { ...this.#progress, attempts: withAttempt(this.#progress.attempts, attempt) };
    await this.#save();
  }

  /** Ends readers whose key lost or gained something, and moves the place on where no type matches. */
  async review(): Promise<void> {
    const reader = this.#reader;
    if (!reader || this.pendingSince !== undefined) return;
    const session = await this.#session();
    if (!session) await this.#disable('key');
    else if (String(this.#typesFor(session)) !== String(reader.types)) reader.fail(new SlowReaderError());
    else if (reader.passed !== undefined && reader.passed !== this.#progress.after) {
      this.#progress = { ...this.#progress, after: reader.passed };
      await this.#save();
    }
  }

  async #run(): Promise<void> {
    try {
      while (!this.isStopping) {
        await this.#pause(this.#wait);
        this.#wait = 0;
        if (!this.isStopping) await this.#follow().catch((error) => this.#recover(error));
      }
    } finally {
      this.pendingSince = undefined;
      if (this.#saveTimer) await this.#save();
    }
  }

  /** Decides what the error of a reader means. */
  async #recover(error: unknown): Promise<void> {
    if (this.isStopping || error instanceof SlowReaderError) return;
    const code = error instanceof AppError ? error.code : undefined;
    // The log has no such place any more, or the store was moved.
    if (code === 'GONE' || code === 'VALIDATION_FAILED') return this.#disable('events_expired');
    if (code !== 'UNAVAILABLE') this.#deliveries.services.report(error);
    this.#wait = AWAY_PAUSE;
  }

  /** Delivers from the place on, until an attempt fails. */
  async #follow(): Promise<void> {
    const session = await this.#session();
    if (!session) return this.#disable('key');
    const types = this.#typesFor(session);
    const selection = { after: this.#progress.after, ...(types && { types }) };
    const reader = await this.#deliveries.services.feed.open(selection);
    this.#reader = reader;
    try {
      if (this.isStopping) return;
      for (;;) for (const event of await reader.take()) if (!(await this.#deliver(event))) return;
    } finally {
      this.#reader = undefined;
      reader.close();
    }
  }

  /** @returns whether the next event may follow */
  async #deliver({ event, json }: FeedEvent): Promise<boolean> {
    this.pendingSince = event.time;
    const session = await this.#session();
    if (!session) {
      await this.#disable('key');
      return false;
    }
    if (readableTypes(session.principal, [event.type])!.length === 0) return this.#acknowledge(event.id);
    if (this.#progress.attempted % ATTEMPTS_PER_PAYMENT === 0 && !(await this.#pay(session))) return false;
    while (!this.#deliveries.holdsLease && !this.isStopping) await this.#pause(LEASE_PAUSE);
    if (this.isStopping) return false;
    session.countRequest();
    const { attempt, outcome } = await this.#deliveries.attempt(this.#webhook, { id: event.id, body: json });
    const { attempted, attempts } = this.#progress;
    this.#progress = {
      ...this.#progress,
      attempted: attempted + 1,
      attempts: withAttempt(attempts, attempt),
    };
    const { status = 0 } = outcome;
    if (status >= 200 && status < 300) return this.#acknowledge(event.id);
    if (status === 410) await this.#disable('gone');
    else await this.#fail(event.id, attempt.time, outcome);
    return false;
  }

  #acknowledge(after: string): boolean {
    const { failing: _, ...progress } = this.#progress;
    this.#progress = { ...progress, after };
    this.pendingSince = undefined;
    this.#saveTimer ??= setTimeout(
      () => void this.#save(),
      Math.max(0, this.#savedAt + SAVE_INTERVAL - performance.now()),
    );
    return !this.isStopping;
  }

  async #fail(eventId: string, time: number, { retryAfter = 0 }: Outcome): Promise<void> {
    const { since = time, attempts = 0 } = this.#progress.failing ?? {};
    const usual = WAITS[Math.min(attempts, WAITS.length - 1)]!;
    const spread = 1 + JITTER * (2 * Math.random() - 1);
    this.#wait = Math.max(usual * spread, Math.min(retryAfter, HOUR));
    const now = this.#deliveries.services.clock.now();
    const nextAttemptAt = Math.round(now + this.#wait);
    this.#progress = {
      ...this.#progress,
      failing: { eventId, since, attempts: attempts + 1, nextAttemptAt },
    };
    if (now - since >= MAX_FAILING_TIME) await this.#disable('failing');
    else await this.#save();
  }

  /** Pays for the next attempts. Looks first, because being refused repeatedly is a violation. */
  async #pay(session: Session): Promise<boolean> {
    const now = this.#deliveries.services.clock.now();
    try {
      await session.charge(0);
      const { minute, day } = session.decision!;
      const exhausted = [minute, day].filter(({ remaining }) => remaining < 1);
      if (exhausted.length === 0) {
        await session.charge(1);
        return true;
      }
      this.#wait = Math.max(...exhausted.map(({ resetAt }) => resetAt - now));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      this.#wait = (error.retryAfter ?? 1) * SECOND;
    }
    this.#wait = Math.min(Math.max(SECOND / 10, this.#wait), MAX_BUDGET_PAUSE);
    return false;
  }

  async #disable(reason: DisabledReason): Promise<void> {
    this.#abort();
    await this.#save(reason);
  }

  async #save(reason?: DisabledReason): Promise<void> {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    this.#savedAt = performance.now();
    const progress = this.#progress;
    try {
      if (!(await this.#deliveries.save({ ...this.#webhook, progress }, reason))) this.#abort();
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'UNAVAILABLE'))
        this.#deliveries.services.report(error);
      if (!this.isStopping) this.#saveTimer = setTimeout(() => void this.#save(reason), AWAY_PAUSE);
    }
  }

  async #session(): Promise<Session | null> {
    const session = await this.#deliveries.services.sessionOf(this.#webhook.apiKeyId);
    session?.attribute(SUBJECT);
    return session;
  }

  #typesFor(session: Session) {
    return readableTypes(session.principal, this.#webhook.settings.types);
  }

  #abort(): void {
    this.#stopping.abort();
    this.#reader?.fail(new SlowReaderError());
  }

  /** Ends early when the delivery is stopped. */
  #pause(milliseconds: number): Promise<void> {
    const { signal } = this.#stopping;
    if (milliseconds === 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener('abort', end);
    });
  }
}
