import { setTimeout as sleep } from 'node:timers/promises';
import { permits, readScope, writeScope } from '../access/scopes.ts';
import type { Session, UsageSubject } from '../access/session.ts';
import { readableTypes } from '../domains/event/event.ts';
import { listed } from '../domains/webhook/webhook.ts';
import type { EventFeed } from '../events/feed.ts';
import type { EventReader, FeedEvent, Selection } from '../events/reader.ts';
import { AppError } from '../foundation/errors.ts';
import type { Clock } from '../foundation/instant.ts';
import type { MaybePromise } from '../foundation/maybe-promise.ts';
import type { Store } from '../store/store.ts';
import type { DisabledReason, Webhook, WebhookAttempt } from '../store/webhooks.ts';
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
/**
 * How often progress is saved at most, in milliseconds: a kill repeats what was acknowledged since, a second
 * at most even if saving takes time.
 */
const SAVE_INTERVAL = SECOND / 2;
/** How often the places of webhooks without matching events are saved, in milliseconds. */
const QUIET_SAVE_INTERVAL = 30 * SECOND;
/** How long to wait for an unreachable database, and at most for budget before looking again. */
const [AWAY_PAUSE, MAX_BUDGET_PAUSE] = [SECOND, MINUTE];
/** How old the renewal of a claim may be when an attempt begins, so that it ends before the claim. */
const MAX_CLAIM_AGE = 2_500;

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

/** Sends an event once and counts the attempt. */
type Attempt = (webhook: Webhook, event: { id: string; body: string }) => Promise<[WebhookAttempt, Outcome]>;

/**
 * Delivers the events of one webhook, one after the other, for as long as an instance holds it. Whatever
 * changes interrupts it; then it reads the webhook again, after the attempt under way.
 */
export class Delivery {
  readonly #id: string;
  readonly #instance: string;
  readonly #services: DeliveryServices;
  readonly #attempt: Attempt;
  readonly #onDisabled: (reason: DisabledReason) => void;
  /** With the progress made since it was read. */
  #webhook: Webhook | undefined;
  #round = new AbortController();
  #isEnding = false;
  #reader: EventReader | undefined;
  /** Whether everything before the reader's place was delivered. */
  #isIdle = false;
  /** How long to wait before the next round, in milliseconds. */
  #wait = 0;
  /** The places of many webhooks are not saved all at once. */
  #savedAt = performance.now() - Math.random() * QUIET_SAVE_INTERVAL;
  /** When the latest save began that has renewed the claim. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #saveTimer: NodeJS.Timeout | undefined;
  /** The latest save. Each waits for the one before it, so that none lands after a later one. */
  #saving: Promise<unknown> = Promise.resolve();
  #isUnsaved = false;
  /** When the event was committed that is being delivered; undefined if there is none. */
  pendingSince: number | undefined;
  /** Resolves when the last attempt has ended and the place is saved. */
  readonly done: Promise<void>;

  /** @param instance who holds it: for others, nothing is saved */
  constructor(
    id: string,
    instance: string,
    services: DeliveryServices,
    attempt: Attempt,
    onDisabled: (reason: DisabledReason) => void,
  ) {
    this.#id = id;
    this.#instance = instance;
    this.#services = services;
    this.#attempt = attempt;
    this.#onDisabled = onDisabled;
    this.done = this.#run().catch(services.report);
  }

  /** Goes on from the webhook as it is by now, after the attempt under way. */
  interrupt(): void {
    this.#round.abort();
    this.#reader?.fail(new Error('interrupted'));
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

  /** Ends if the key is gone, reads other types if it may, and moves the place on where none matches. */
  async review(): Promise<void> {
    const reader = this.#reader;
    if (!reader || !this.#isIdle) return;
    const session = await this.#session();
    // Its owner may have moved the place meanwhile.
    if (!this.#isIdle || this.#reader !== reader) return;
    if (!session) await this.#disable('key');
    else if (String(this.#typesFor(session)) !== String(reader.types)) this.interrupt();
    else if (
      reader.passed !== undefined &&
      reader.passed !== this.#webhook!.progress.after &&
      performance.now() - this.#savedAt > QUIET_SAVE_INTERVAL
    ) {
      this.#advance({ after: reader.passed });
      await this.#save();
    }
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      this.#round = new AbortController();
      try {
        if (!(await this.#load())?.settings.enabled) break;
        await this.#follow();
      } catch (error) {
        this.#recover(error);
      }
      await this.#pause(this.#wait);
      this.#wait = 0;
    }
    this.pendingSince = undefined;
    // What its owner has changed meanwhile is no reason to forget what was acknowledged.
    await this.#saving;
    if (this.#isUnsaved && !(await this.#save()) && (await this.#load())) await this.#save();
  }

  /** Goes on from the place after a while, unless it was interrupted on purpose. */
  #recover(error: unknown): void {
    if (this.#isInterrupted) return;
    if (!(error instanceof AppError)) this.#services.report(error);
    this.#wait = AWAY_PAUSE;
  }

  get #isInterrupted(): boolean {
    return this.#round.signal.aborted;
  }

  /** Ends early when the round is interrupted. */
  async #pause(milliseconds: number): Promise<void> {
    if (milliseconds > 0)
      await sleep(milliseconds, undefined, { signal: this.#round.signal }).catch(() => {});
  }

  /** Reads the webhook, and keeps what was acknowledged since it was saved. @returns null if it is not held */
  async #load(): Promise<Webhook | null> {
    const known = this.#webhook;
    const stored = await this.#services.store.webhookById(this.#id, this.#instance);
    if (!stored || known?.version === stored.version) return stored;
    this.#webhook = stored;
    this.#isUnsaved = false;
    if (known && known.progress.moves === stored.progress.moves) {
      const { after, attempted, attempts } = known.progress;
      // Another instance may have listed a test.
      const all = listed(attempts, stored.progress.attempts).toSorted((a, b) => b.time - a.time);
      this.#advance({ after, attempted, attempts: all });
      this.#saveSoon();
    }
    return stored;
  }

  /** @returns null if the log has no such place any more */
  async #open(selection: Selection): Promise<EventReader | null> {
    try {
      return await this.#services.feed.open(selection);
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
      const wait = failing.nextAttemptAt - this.#services.clock.now();
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
    const claimAge = this.#services.clock.monotonic() - this.#renewedAt;
    if (claimAge > MAX_CLAIM_AGE && !(await this.#save())) return false;
    if (this.#isInterrupted) return false;
    session.countRequest();
    const [attempt, outcome] = await this.#attempt(this.#webhook!, { id: event.id, body: json });
    const { attempted, attempts } = this.#webhook!.progress;
    this.#advance({ attempted: attempted + 1, attempts: listed([attempt], attempts) });
    const { status = 0 } = outcome;
    if (status >= 200 && status < 300) return this.#acknowledge(event.id);
    if (status === 410) await this.#disable('gone');
    else await this.#fail(event.id, attempt.time, outcome);
    return false;
  }

  #acknowledge(after: string): boolean {
    this.#advance({ after, failing: undefined });
    this.pendingSince = undefined;
    this.#saveSoon();
    return !this.#isInterrupted;
  }

  async #fail(eventId: string, time: number, { retryAfter = 0 }: Outcome): Promise<void> {
    const { since = time, attempts = 0 } = this.#webhook!.progress.failing ?? {};
    const usual = WAITS[Math.min(attempts, WAITS.length - 1)]!;
    const wait = Math.max(usual * (1 + JITTER * (2 * Math.random() - 1)), Math.min(retryAfter, HOUR));
    const now = this.#services.clock.now();
    const nextAttemptAt = Math.round(now + wait);
    this.#advance({ failing: { eventId, since, attempts: attempts + 1, nextAttemptAt } });
    if (now - since >= MAX_FAILING_TIME) await this.#disable('failing');
    else await this.#save();
  }

  /** Pays for the next attempts. Looks first, because being refused repeatedly is a violation. */
  async #pay(session: Session): Promise<boolean> {
    const now = this.#services.clock.now();
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
    if (await this.#save(reason)) this.interrupt();
  }

  #advance(progress: Partial<Webhook['progress']>): void {
    this.#webhook = { ...this.#webhook!, progress: { ...this.#webhook!.progress, ...progress } };
    this.#isUnsaved = true;
  }

  #saveSoon(): void {
    const wait = this.#savedAt + SAVE_INTERVAL - performance.now();
    this.#saveTimer ??= setTimeout(() => void this.#save(), Math.max(0, wait));
  }

  /** @returns whether it is saved; if not, it may be later */
  #save(reason?: DisabledReason): Promise<boolean> {
    const saved = this.#saving.then(() => this.#saveNow(reason));
    this.#saving = saved;
    return saved;
  }

  async #saveNow(reason?: DisabledReason): Promise<boolean> {
    clearTimeout(this.#saveTimer);
    this.#saveTimer = undefined;
    this.#savedAt = performance.now();
    const wasUnsaved = this.#isUnsaved;
    this.#isUnsaved = false;
    const began = this.#services.clock.monotonic();
    try {
      const { store, log } = this.#services;
      const { apiKeyId } = this.#webhook!;
      const isHeld = await store.saveProgress(this.#instance, this.#webhook!, reason);
      if (isHeld) {
        this.#renewedAt = began;
        if (reason === undefined) return true;
        this.#onDisabled(reason);
        log.warn({ webhook: this.#id, apiKey: apiKeyId, reason }, 'webhook disabled');
      } else {
        this.#isUnsaved ||= wasUnsaved;
        this.interrupt();
      }
      return isHeld;
    } catch (error) {
      this.#isUnsaved ||= wasUnsaved;
      if (!(error instanceof AppError && error.code === 'UNAVAILABLE')) this.#services.report(error);
      this.#wait = AWAY_PAUSE;
      if (!this.#isEnding) this.#saveTimer = setTimeout(() => void this.#save(), AWAY_PAUSE);
      return false;
    }
  }

  /** @returns null if the key is not valid any more, or does not permit what its holder could no longer do or see */
  async #session(): Promise<Session | null> {
    const session = await this.#services.sessionOf(this.#webhook!.apiKeyId);
    if (!session || !DELIVERY_SCOPES.every((scope) => permits(session.principal, scope))) return null;
    session.subject = SUBJECT;
    return session;
  }

  #typesFor(session: Session) {
    return readableTypes(session.principal, this.#webhook!.settings.types);
  }
}
