import { randomUUID } from 'node:crypto';
import { AppError } from '../../foundation/errors.ts';
import { formatInstant } from '../../foundation/instant.ts';
import type { DisabledReason, Webhook, WebhookAttempt } from '../../store/webhooks.ts';
import { Delivery, type DeliveryHost, type DeliveryServices, withAttempt } from './delivery.ts';
import { type Outcome, Sender } from './request.ts';

/** How often the lease is renewed and changes of webhooks are noticed, in milliseconds. */
const INTERVAL = 1_000;
/** How many renewals apart the places of quiet webhooks are saved, and their keys are looked at. */
const RENEWALS_PER_REVIEW = 30;
/** How old a renewal may be when an attempt begins, so that it ends before the lease. */
const MAX_LEASE_AGE = 2_500;

/**
 * The webhooks that this process delivers: those for which it holds the lease. A webhook is a place in the
 * event log, and nothing is queued.
 */
export class Deliveries implements DeliveryHost {
  readonly services: DeliveryServices;
  /** Attempts by what came of them: the class of the status such as `2xx`, or an error. */
  readonly attempts = new Map<string, number>();
  /** Webhooks that were disabled, by reason. */
  readonly disabled = new Map<DisabledReason, number>();
  readonly #sender: Sender;
  readonly #instance = randomUUID();
  readonly #running = new Map<string, Delivery>();
  #timer: NodeJS.Timeout | undefined;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** Webhooks whose former delivery is still ending. */
  readonly #starting = new Set<string>();
  #renewals = 0;
  #isStopped = true;
  #renewal: Promise<void> | undefined;

  constructor(services: DeliveryServices) {
    this.services = services;
    this.#sender = new Sender(services.targets);
  }

  /** Starts delivering. Without it, only tests are sent. */
  start(): void {
    this.#isStopped = false;
    this.#renewIn(0);
  }

  /** Stops a delivery whose webhook was changed in this process, to go on with the change at once. */
  changed(id: string): void {
    if (this.#isStopped) return;
    void this.#running.get(id)?.stop();
    if (!this.#renewal) this.#renewIn(0);
  }

  #renewIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(async () => {
      this.#renewal = this.#renew();
      await this.#renewal;
      this.#renewal = undefined;
      if (!this.#isStopped) this.#renewIn(INTERVAL);
    }, milliseconds);
  }

  /** Finishes the attempts under way, keeps the places and ends the lease. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#renewal;
    await Promise.all([...this.#running.values()].map((delivery) => delivery.stop()));
    this.#sender.close();
    if (this.#renewedAt > 0)
      await Promise.resolve(this.services.store.releaseWebhooks(this.#instance)).catch(() => {});
  }

  /** Whether an attempt may begin: it would end before the lease does. */
  get holdsLease(): boolean {
    return performance.now() - this.#renewedAt < MAX_LEASE_AGE;
  }

  /** Age of the oldest event that is being delivered, in milliseconds. */
  get lag(): number {
    let oldest = this.services.clock.now();
    const now = oldest;
    for (const { pendingSince } of this.#running.values()) oldest = Math.min(oldest, pendingSince ?? now);
    return now - oldest;
  }

  /** The webhooks that are being delivered. */
  get size(): number {
    return this.#running.size;
  }

  /** Sends an event once and counts the attempt. */
  async attempt(
    { settings }: Webhook,
    event: { id: string; body: string },
  ): Promise<{ attempt: WebhookAttempt; outcome: Outcome }> {
    const { clock } = this.services;
    const time = clock.now();
    const began = performance.now();
    const outcome = await this.#sender.send(settings.url, event, settings.secrets, time);
    const { status, error } = outcome;
    const label = error ?? `${Math.floor(status! / 100)}xx`;
    this.attempts.set(label, (this.attempts.get(label) ?? 0) + 1);
    const attempt: WebhookAttempt = {
      eventId: event.id,
      time,
      ms: Math.round(performance.now() - began),
      ...(status !== undefined && { status }),
      ...(error && { error }),
    };
    return { attempt, outcome };
  }

  /** Sends a `webhook.test` and lists the attempt. */
  async test(webhook: Webhook, id: string): Promise<WebhookAttempt> {
    const time = formatInstant(this.services.clock.now());
    const body = JSON.stringify({ id, type: 'webhook.test', time, data: {} });
    const { attempt } = await this.attempt(webhook, { id, body });
    const delivery = this.#running.get(webhook.id);
    if (delivery) await delivery.record(attempt);
    else await this.#list(webhook, attempt);
    return attempt;
  }

  /** Saves what a delivery has done. @returns whether it may go on */
  async save(webhook: Webhook, reason?: DisabledReason): Promise<boolean> {
    const { store, log } = this.services;
    const isSaved = await store.saveProgress(this.#instance, webhook, reason);
    if (isSaved && reason !== undefined) {
      this.disabled.set(reason, (this.disabled.get(reason) ?? 0) + 1);
      log.warn({ webhook: webhook.id, apiKey: webhook.apiKeyId, reason }, 'webhook disabled');
    }
    return isSaved;
  }

  /** Lists an attempt of a webhook that this process does not deliver. */
  async #list({ apiKeyId, id }: Webhook, attempt: WebhookAttempt): Promise<void> {
    await this.services.store.webhookWrites.changeWebhook(apiKeyId, id, ({ settings, progress }) => ({
      settings,
      progress: { ...progress, attempts: withAttempt(progress.attempts, attempt) },
    }));
  }

  async #renew(): Promise<void> {
    const { store, log, report } = this.services;
    const began = performance.now();
    try {
      const claims = await store.claimWebhooks(this.#instance);
      this.#renewedAt = began;
      const held = new Set(claims.map(({ id }) => id));
      const starting: Promise<void>[] = [];
      for (const [id, delivery] of this.#running)
        if (!held.has(id)) {
          this.#running.delete(id);
          void delivery.stop();
        }
      for (const { id, version, takenOver } of claims) {
        const delivery = this.#running.get(id);
        if (takenOver) log.info({ webhook: id }, 'webhook taken over');
        if (delivery?.version === version && delivery.isRunning) continue;
        // The attempt under way ends first: there is one at a time.
        starting.push(this.#restart(id, delivery));
      }
      // A thirtieth of them each time.
      let number = this.#renewals++;
      for (const delivery of this.#running.values())
        if (number++ % RENEWALS_PER_REVIEW === 0) starting.push(delivery.review());
      void Promise.all(starting).catch(report);
    } catch (error) {
      if (error instanceof AppError && (error.code === 'UNAVAILABLE' || error.code === 'NOT_FOUND')) return;
      report(error);
    }
  }

  async #restart(id: string, former: Delivery | undefined): Promise<void> {
    if (this.#starting.has(id)) return;
    this.#starting.add(id);
    try {
      await this.#replace(id, former);
    } finally {
      this.#starting.delete(id);
    }
  }

  async #replace(id: string, former: Delivery | undefined): Promise<void> {
    await former?.stop();
    const webhook = await this.services.store.webhookById(id);
    if (this.#isStopped || !webhook?.settings.enabled) return;
    const delivery = new Delivery(webhook, this, former);
    this.#running.set(id, delivery);
    delivery.run();
  }
}
