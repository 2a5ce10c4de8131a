/*
 * Timeline of a delivery, in rounds:
 *
 *   saving        Each round begins with a save, which renews the claim and reads the owner's changes. The delivery ends if
 *                 the instance has lost the claim or the webhook is disabled.
 *   waiting       The latest attempt failed: waits until the next is due, and checks the key every second.
 *   following     Reads the log from the saved position, one event after another.
 *   attempting    The key may read the event, every tenth attempt is charged, and the stored webhook is unchanged.
 *   acknowledged  2xx: the position advances in memory, and is stored by the next save.
 *   failed        Anything else: the round ends, with the time of the next attempt. After 72 hours, or at once for 410
 *                 Gone, the webhook is disabled.
 *
 * An owner's change or `end` aborts the round, but never a running attempt. A killed process loses what it has not saved,
 * so its successor sends all events since the saved position again, in order: delivery is at least once.
 */

import { HOUR, MINUTE, SECOND } from '../foundation/instant.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { permits, readScope, writeScope } from '../access/scopes.ts';
import type { Session, UsageSubject } from '../access/session.ts';
import type { EventReader, FeedEvent, WantedEvents } from '../events/feed.ts';
import type { FeatureServices } from '../domains/feature.ts';
import { AppError } from '../foundation/errors.ts';
import { type DisabledReason, type Webhook, type WebhookAttempt, webhooksOf } from './stored-webhooks.ts';
import type { AttemptResult } from './request.ts';
import type { Targets } from './targets.ts';

/** The waits after the first, second … failure of an event, in milliseconds; the last one repeats. */
const WAITS = [1, 5, 15, 60, 300, 900, 1_800, 3_600].map((seconds) => seconds * SECOND);
/** The maximum share by which waits vary at random, so that a receiver doesn't get all retries at once. */
const JITTER = 0.2;
/** How long a webhook may fail before it is disabled, in milliseconds. */
const MAX_FAILING_TIME = 72 * HOUR;
/** The number of attempts per unit. */
const ATTEMPTS_PER_CHARGE = 10;
/** The scopes that a key needs for deliveries, besides those to read the records. */
const DELIVERY_SCOPES = [readScope('events'), writeScope('webhooks')];
/** The subject under which attempts are counted. */
const SUBJECT: UsageSubject = { transport: 'webhook', rootFields: [{ name: 'events', units: 1 }] };
/** The interval at which positions are saved without matching events, in milliseconds. */
const QUIET_INTERVAL = 30 * SECOND;
/** The pause after a round that failed, for example because the database is unreachable, in milliseconds. */
const FAILED_PAUSE = SECOND;
/** The longest wait for budget before looking again, in milliseconds. */
const MAX_BUDGET_PAUSE = MINUTE;
/** The interval at which the key is checked while there is nothing to send, in milliseconds. */
const CHECK_INTERVAL = SECOND;
/**
 * The maximum age of the latest save when an attempt begins, in milliseconds. A save renews the claim, which the
 * attempt must not outlast; and after a kill, everything acknowledged since the save is sent again.
 */
const MAX_AGE = SECOND / 2;

/** The services shared by deliveries. */
export interface DeliveryServices extends Omit<FeatureServices, 'config'> {
  targets: Targets;
}

/** The services and callbacks of one delivery. */
interface Task extends DeliveryServices {
  /** The instance with the claim: only its progress is saved. */
  instance: string;
  /** Makes one attempt to send an event, and counts it. */
  attempt: (
    webhook: Webhook,
    event: { id: string; body: string },
  ) => Promise<[WebhookAttempt, AttemptResult]>;
  onDisabled: (reason: DisabledReason) => void;
}

/**
 * Delivers the events of a webhook, one after another, while an instance has its claim. Attempts, saves and waits never
 * overlap. Any change begins a new round, after the running attempt.
 */
export class Delivery {
  readonly #task: Task;
  /** The webhook as last saved, with progress since. */
  #webhook: Webhook;
  #round = new AbortController();
  #isEnding = false;
  #isUnsaved = false;
  /** The time when the latest save, and renewal of the claim, began. */
  #savedAt = Number.NEGATIVE_INFINITY;
  /** The commit time of the event in delivery; undefined if none is. */
  pendingSince: number | undefined;
  /** Resolves when the last attempt has ended and the position is saved. */
  readonly done: Promise<void>;

  constructor(task: Task, webhook: Webhook) {
    this.#task = task;
    this.#webhook = webhook;
    this.done = this.#run().catch(task.report);
  }

  /** Begins a new round if the owner has changed the webhook. @param webhook the stored webhook */
  restartIfChanged({ version }: Webhook): void {
    if (this.#webhook.version !== version) this.#round.abort();
  }

  /** Ends the delivery, after the running attempt. */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#round.abort();
    return this.done;
  }

  async #run(): Promise<void> {
    while (!this.#isEnding) {
      this.#round = new AbortController();
      try {
        await this.#save();
        if (this.#isEnding || !this.#webhook.settings.enabled) break;
        await this.#deliverFromPosition();
      } catch (error) {
        // Continues from the position after a pause, or at once if it was interrupted on purpose.
        if (!this.#isInterrupted) this.#task.report(error);
        await this.#pause(FAILED_PAUSE);
      }
    }
    this.pendingSince = undefined;
    if (this.#isUnsaved) await this.#save();
  }

  get #isInterrupted(): boolean {
    return this.#round.signal.aborted;
  }

  /** Sleeps until the round is interrupted. @param milliseconds the maximum */
  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#round.signal }).catch(() => {});
  }

  /** Waits as long as the key permits deliveries. @returns true if the round goes on */
  async #waitWhilePermitted(milliseconds: number): Promise<boolean> {
    for (let left = milliseconds; left > 0; left -= CHECK_INTERVAL) {
      await this.#pause(Math.min(left, CHECK_INTERVAL));
      if (this.#isInterrupted || !(await this.#sessionOrDisable())) return false;
    }
    return true;
  }

  /** @returns null if the log no longer has this position */
  async #open(wanted: WantedEvents): Promise<EventReader | null> {
    try {
      return await this.#task.feed.open(wanted, this.#round.signal);
    } catch (error) {
      if (error instanceof AppError && (error.code === 'GONE' || error.code === 'VALIDATION_FAILED'))
        return null;
      throw error;
    }
  }

  /** Delivers from the position until an attempt fails or something changes. */
  async #deliverFromPosition(): Promise<void> {
    const { after, failing } = this.#webhook.progress;
    // At most the longest wait, in case the clock has jumped.
    if (failing) {
      const wait = failing.nextAttemptAt - this.#task.clock.now();
      if (!(await this.#waitWhilePermitted(Math.min(wait, WAITS.at(-1)! * (1 + JITTER))))) return;
    }
    const session = await this.#sessionOrDisable();
    if (!session) return;
    const types = this.#typesFor(session);
    const reader = await this.#open({ after, ...(types && { types }) });
    if (!reader) {
      await this.#save('events_expired');
      return;
    }
    let checkedAt = performance.now();
    for await (const { events, next } of reader.pages) {
      for (const event of events) if (!(await this.#deliver(event))) return;
      if (performance.now() - checkedAt < CHECK_INTERVAL) continue;
      checkedAt = performance.now();
      const session = await this.#sessionOrDisable();
      if (!session || String(this.#typesFor(session)) !== String(types)) return;
      if (this.#age > QUIET_INTERVAL && next !== this.#webhook.progress.after) this.#advance({ after: next });
      if (this.#isUnsaved && !(await this.#save())) return;
    }
  }

  /** @returns true if the next event may follow */
  async #deliver({ event, json }: FeedEvent): Promise<boolean> {
    this.pendingSince = event.time;
    const session = await this.#sessionOrDisable();
    if (!session) return false;
    if (!this.#task.eventTypes.mayRead(session.principal, event.type)) return this.#acknowledge(event.id);
    // The attempt must respect the owner's latest changes.
    const { id, version } = this.#webhook;
    const isUnchanged =
      this.#age > MAX_AGE
        ? await this.#save()
        : (await webhooksOf(this.#task.store).byId(id))?.version === version;
    if (!isUnchanged || this.#isInterrupted) return false;
    const isDue = this.#webhook.progress.attempted % ATTEMPTS_PER_CHARGE === 0;
    if (isDue && !(await this.#charge(session))) return false;
    if (this.#isInterrupted) return false;
    session.countRequest();
    const [attempt, result] = await this.#task.attempt(this.#webhook, { id: event.id, body: json });
    const { attempted, attempts } = this.#webhook.progress;
    this.#advance({ attempted: attempted + 1, attempts: [attempt, ...attempts] });
    const { status = 0 } = result;
    if (status >= 200 && status < 300) return this.#acknowledge(event.id);
    return status === 410 ? this.#save('gone') : this.#fail(event.id, attempt.time, result);
  }

  #acknowledge(after: string): boolean {
    this.#advance({ after, failing: undefined });
    this.pendingSince = undefined;
    return !this.#isInterrupted;
  }

  /** @returns false */
  async #fail(eventId: string, time: number, { retryAfter = 0 }: AttemptResult): Promise<boolean> {
    const { since = time, attempts = 0 } = this.#webhook.progress.failing ?? {};
    const usual = WAITS[Math.min(attempts, WAITS.length - 1)]!;
    const wait = Math.max(usual * (1 + JITTER * (2 * Math.random() - 1)), Math.min(retryAfter, HOUR));
    const now = this.#task.clock.now();
    const nextAttemptAt = Math.round(now + wait);
    this.#advance({ failing: { eventId, since, attempts: attempts + 1, nextAttemptAt } });
    if (now - since >= MAX_FAILING_TIME) await this.#save('failing');
    return false;
  }

  /**
   * Pays for the next attempts, or waits. Checks the budget first, because repeated refusals are strikes.
   *
   * @returns true if it has paid
   */
  async #charge(session: Session): Promise<boolean> {
    const now = this.#task.clock.now();
    let wait: number;
    try {
      await session.charge(0);
      const { minute, day } = session.decision!;
      const exhausted = [minute, day].filter(({ remaining }) => remaining < 1);
      if (exhausted.length === 0) {
        await session.charge(1);
        return true;
      }
      wait = Math.max(...exhausted.map(({ resetAt }) => resetAt - now));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      wait = (error.retryAfter ?? 1) * SECOND;
    }
    if (await this.#save())
      await this.#waitWhilePermitted(Math.min(Math.max(SECOND / 10, wait), MAX_BUDGET_PAUSE));
    return false;
  }

  #advance(progress: Partial<Webhook['progress']>): void {
    this.#webhook = { ...this.#webhook, progress: { ...this.#webhook.progress, ...progress } };
    this.#isUnsaved = true;
  }

  /** The time since the latest save, in milliseconds. */
  get #age(): number {
    return this.#task.clock.monotonic() - this.#savedAt;
  }

  /**
   * Saves the progress, disables the webhook if there is a reason, and reads the owner's changes.
   *
   * @returns true if delivery goes on unchanged: the webhook is still claimed, and neither disabled nor changed
   */
  async #save(reason?: DisabledReason): Promise<boolean> {
    const { store, log, clock, instance, onDisabled } = this.#task;
    const { id, apiKeyId, version } = this.#webhook;
    const began = clock.monotonic();
    const saved = await webhooksOf(store).saveProgress(instance, this.#webhook, reason);
    this.#isUnsaved = false;
    if (!saved) {
      this.#isEnding = true;
      return false;
    }
    this.#savedAt = began;
    this.#webhook = saved;
    if (saved.version !== version) return false;
    if (reason === undefined) return true;
    onDisabled(reason);
    log.warn({ webhook: id, apiKey: apiKeyId, reason }, 'webhook disabled');
    return false;
  }

  /**
   * Opens a session of the key, or disables the webhook if the key is no longer valid or lacks the scopes.
   *
   * @returns null if disabled
   */
  async #sessionOrDisable(): Promise<Session | null> {
    const session = await this.#task.sessionOf(this.#webhook.apiKeyId);
    if (session && DELIVERY_SCOPES.every((scope) => permits(session.principal, scope))) {
      session.subject = SUBJECT;
      return session;
    }
    await this.#save('key');
    return null;
  }

  #typesFor(session: Session) {
    return this.#task.eventTypes.readable(session.principal, this.#webhook.settings.types);
  }
}
