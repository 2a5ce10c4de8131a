import { setTimeout as sleep } from 'node:timers/promises';
import { permits, readScope, writeScope } from '../access/scopes.ts';
import type { Session, UsageSubject } from '../access/session.ts';
import { readableTypes } from '../domains/event/event.ts';
import type { EventFeed } from '../events/feed.ts';
import type { EventReader, Selection } from '../events/reader.ts';
import type { FeedEvent } from '../events/tail.ts';
import { AppError } from '../foundation/errors.ts';
import type { Clock } from '../foundation/instant.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import { type DisabledReason, latestAttempts, type Webhook, type WebhookAttempt } from '../store/webhooks.ts';
import type { Outcome } from './request.ts';
import type { Targets } from './targets.ts';

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
/** Waits after the first, second … failure of an event in milliseconds; the last one repeats. */
const WAITS = [1, 5, 15, 60, 300, 900, 1_800, 3_600].map((seconds) => seconds * SECOND);
/** Waits are up to this much shorter or longer, so that receivers are not hit by all at once. */
const JITTER = 0.2;
/** A webhook that has failed for this long is disabled, in milliseconds. */
const MAX_FAILING_TIME = 72 * HOUR;
/** Attempts covered by one unit. */
const ATTEMPTS_PER_PAYMENT = 10;
/** What a key needs, besides the scopes to read the records, as long as its webhooks deliver. */
const DELIVERY_SCOPES = [readScope('events'), writeScope('webhooks')];
/** What attempts are counted as. */
const SUBJECT: UsageSubject = { transport: 'webhook', operations: [{ name: 'events', units: 1 }] };
/** How often places without matching events are saved, in milliseconds: half as long or longer, not all at once. */
const QUIET_INTERVAL = 30 * SECOND;
/** How long to wait for an unreachable database, and at most for budget before looking again. */
const [AWAY_PAUSE, MAX_BUDGET_PAUSE] = [SECOND, MINUTE];
/**
 * How old the latest save may be when an attempt begins, in milliseconds. A save renews the claim, which the attempt must
 * not outlast, and a kill repeats what was acknowledged since.
 */
const MAX_AGE = SECOND / 2;

/** What deliveries share with each other. */
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

/** A webhook to deliver. */
interface Task extends DeliveryServices {
  id: string;
  /** Who holds it: for others, nothing is saved. */
  instance: string;
  /** Sends an event once and counts the attempt. */
  attempt: (webhook: Webhook, event: { id: string; body: string }) => Promise<[WebhookAttempt, Outcome]>;
  onDisabled: (reason: DisabledReason) => void;
}

/**
 * Delivers the events of one webhook, one after the other, for as long as an instance holds it. Whatever
 * changes interrupts it; then it reads the webhook again, after the attempt under way.
 */
export class Delivery {
  readonly #task: Task;
  /** As it was read, with the progress made since. */
  #webhook: Webhook | undefined;
  #round = new AbortController();
  #isEnding = false;
  #reader: EventReader | undefined;
  /** Whether everything before the reader's place was delivered. */
  #isIdle = false;
  /** How long to wait before the next round, in milliseconds. */
  #wait = 0;
  #isUnsaved = false;
  /** When the latest save began, which has renewed the claim. */
  #savedAt = Number.NEGATIVE_INFINITY;
  /** The latest save. Each waits for the one before it, so that none lands after a later one. */
  #saving: Promise<unknown> = Promise.resolve();
  /** When the event was committed that is being delivered; undefined if there is none. */
  pendingSince: number | undefined;
  /** Resolves when the last attempt has ended and the place is saved. */
  readonly done: Promise<void>;

  constructor(task: Task) {
    this.#task = task;
    this.done = this.#run().catch(task.report);
  }

  /** Goes on from the webhook as it is by now, after the attempt under way. */
  interrupt(): void {
    this.#round.abort();
    this.#reader?.ending.abort(new Error('interrupted'));
  }

  /** Does so if its owner has changed it. */
  follow(version: number): void {
    if (this.#webhook && this.#webhook.version !== version) this.interrupt();
  }

  /** Ends after the attempt under way. */
  end(): Promise<void> {
    this.#isEnding = true;
    this.interrupt();
    return this.done;
  }

  /**
   * Saves what was acknowledged. Without events, also ends if the key is gone, reads other types if it may, and moves the
   * place on where none matches.
   */
  async review(): Promise<void> {
    const reader = this.#reader;
    if (reader && this.#isIdle) {
      const session = await this.#session();
      // Its owner may have moved the place meanwhile.
      if (!this.#isIdle || this.#reader !== reader) return;
      if (!session) return this.#disable('key');
      if (String(this.#typesFor(session)) !== String(reader.types)) return this.interrupt();
      const isDue = this.#age > QUIET_INTERVAL * (Math.random() + 0.5);
      if (isDue && reader.passed !== undefined && reader.passed !== this.#webhook!.progress.after)
        this.#advance({ after: reader.passed });
    }
    if (this.#isUnsaved) await this.#save();
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      this.#round = new AbortController();
      try {
        if (!(await this.#load())?.settings.enabled) break;
        await this.#follow();
      } catch (error) {
        // Goes on from the place after a while, unless it was interrupted on purpose.
        if (!this.#isInterrupted) {
          this.#task.report(error);
          this.#wait = AWAY_PAUSE;
        }
      }
      await this.#pause(this.#wait);
      this.#wait = 0;
    }
    this.pendingSince = undefined;
    await this.#saving;
    if (this.#isUnsaved) await this.#save();
  }

  get #isInterrupted(): boolean {
    return this.#round.signal.aborted;
  }

  /** Ends early when the round is interrupted. */
  async #pause(milliseconds: number): Promise<void> {
    if (milliseconds > 0)
      await sleep(milliseconds, undefined, { signal: this.#round.signal }).catch(() => {});
  }

  /** Reads the webhook, after what was acknowledged is saved. @returns null if it is not held */
  async #load(): Promise<Webhook | null> {
    await this.#saving;
    const { store, id, instance } = this.#task;
    const stored = this.#isUnsaved ? await this.#save() : await store.webhookById(id, instance);
    this.#webhook = stored ?? this.#webhook;
    return stored;
  }

  /** @returns null if the log has no such place any more */
  async #open(selection: Selection): Promise<EventReader | null> {
    try {
      return await this.#task.feed.open(selection);
    } catch (error) {
      if (error instanceof AppError && (error.code === 'GONE' || error.code === 'VALIDATION_FAILED'))
        return null;
      throw error;
    }
  }

  /** Delivers from the place on, until an attempt fails. */
  async #follow(): Promise<void> {
    const { after, failing } = this.#webhook!.progress;
    // No longer than it can be, wherever the clock has been set since.
    if (failing) {
      const wait = failing.nextAttemptAt - this.#task.clock.now();
      await this.#pause(Math.min(wait, WAITS.at(-1)! * (1 + JITTER)));
    }
    if (this.#isInterrupted) return;
    const session = await this.#session();
    if (!session) return this.#disable('key');
    const types = this.#typesFor(session);
    const reader = await this.#open({ after, ...(types && { types }) });
    if (!reader) return this.#disable('events_expired');
    this.#reader = reader;
    try {
      while (!this.#isInterrupted) {
        this.#isIdle = true;
        const events = await reader.take();
        this.#isIdle = false;
        for (const event of events) if (!(await this.#deliver(event))) return;
      }
    } finally {
      this.#isIdle = false;
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
    const isDue = this.#webhook!.progress.attempted % ATTEMPTS_PER_PAYMENT === 0;
    if (isDue && !(await this.#pay(session))) return false;
    if (this.#age > MAX_AGE) await this.#save();
    if (this.#isInterrupted) return false;
    session.countRequest();
    const [attempt, outcome] = await this.#task.attempt(this.#webhook!, { id: event.id, body: json });
    const { attempted, attempts } = this.#webhook!.progress;
    this.#advance({ attempted: attempted + 1, attempts: latestAttempts([attempt, ...attempts]) });
    const { status = 0 } = outcome;
    if (status >= 200 && status < 300) return this.#acknowledge(event.id);
    if (status === 410) await this.#disable('gone');
    else await this.#fail(event.id, attempt.time, outcome);
    return false;
  }

  #acknowledge(after: string): boolean {
    this.#advance({ after, failing: undefined });
    this.pendingSince = undefined;
    return !this.#isInterrupted;
  }

  async #fail(eventId: string, time: number, { retryAfter = 0 }: Outcome): Promise<void> {
    const { since = time, attempts = 0 } = this.#webhook!.progress.failing ?? {};
    const usual = WAITS[Math.min(attempts, WAITS.length - 1)]!;
    const wait = Math.max(usual * (1 + JITTER * (2 * Math.random() - 1)), Math.min(retryAfter, HOUR));
    const now = this.#task.clock.now();
    const nextAttemptAt = Math.round(now + wait);
    this.#advance({ failing: { eventId, since, attempts: attempts + 1, nextAttemptAt } });
    if (now - since >= MAX_FAILING_TIME) await this.#disable('failing');
    else await this.#save();
  }

  /** Pays for the next attempts. Looks first, because being refused repeatedly is a violation. */
  async #pay(session: Session): Promise<boolean> {
    const now = this.#task.clock.now();
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
    await this.#save(reason);
    this.interrupt();
  }

  #advance(progress: Partial<Webhook['progress']>): void {
    this.#webhook = { ...this.#webhook!, progress: { ...this.#webhook!.progress, ...progress } };
    this.#isUnsaved = true;
  }

  /** Milliseconds since the latest save. */
  get #age(): number {
    return this.#task.clock.monotonic() - this.#savedAt;
  }

  /** @returns the webhook as it is then; null if it is not held */
  #save(reason?: DisabledReason): Promise<Webhook | null> {
    const saved = this.#saving.then(() => this.#saveNow(reason));
    this.#saving = saved.catch(() => {
      this.#isUnsaved = true;
    });
    return saved;
  }

  async #saveNow(reason?: DisabledReason): Promise<Webhook | null> {
    const { store, log, clock, instance, id, onDisabled } = this.#task;
    const began = clock.monotonic();
    const { version, apiKeyId } = this.#webhook!;
    this.#isUnsaved = false;
    const saved = await store.saveProgress(instance, this.#webhook!, reason);
    if (saved) this.#savedAt = began;
    if (saved?.version !== version) this.interrupt();
    else if (reason !== undefined) {
      onDisabled(reason);
      log.warn({ webhook: id, apiKey: apiKeyId, reason }, 'webhook disabled');
    }
    return saved;
  }

  /** @returns null if the key is not valid any more, or does not permit what its holder could no longer do or see */
  async #session(): Promise<Session | null> {
    const session = await this.#task.sessionOf(this.#webhook!.apiKeyId);
    if (!session || !DELIVERY_SCOPES.every((scope) => permits(session.principal, scope))) return null;
    session.subject = SUBJECT;
    return session;
  }

  #typesFor(session: Session) {
    return readableTypes(session.principal, this.#webhook!.settings.types);
  }
}
