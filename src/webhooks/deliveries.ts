import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { TEST_TYPE } from './webhook.ts';
import { isUnavailable } from '../foundation/errors.ts';
import { formatInstant } from '../foundation/instant.ts';
import {
  ATTEMPT_ERRORS,
  CLAIM_TIME,
  DISABLED_REASONS,
  type DisabledReason,
  latestAttempts,
  type Webhook,
  type WebhookAttempt,
  webhooksOf,
  webhookWritesOf,
} from './stored-webhooks.ts';
import { Delivery, type DeliveryServices } from './delivery.ts';
import { type AttemptResult, WebhookClient } from './request.ts';

/** The interval at which webhooks are claimed and checked for changes, in milliseconds. */
const INTERVAL = 1_000;
/** The time for running attempts at shutdown, in milliseconds. The rest of its 10 s is for saving positions. */
const STOP_PATIENCE = 9_000;

const increment = <K>(counts: Map<K, number>, key: K) => counts.set(key, (counts.get(key) ?? 0) + 1);

/** Counts that start at 0, so that the first one shows as an increase. */
const zeros = <K>(keys: readonly K[]): Map<K, number> => new Map(keys.map((key) => [key, 0]));

/**
 * The deliveries of the webhooks that this process has claimed. A webhook is a position in the event log, so nothing is
 * queued.
 */
export class Deliveries {
  readonly services: DeliveryServices;
  /** The number of attempts by outcome: a class of status such as `2xx`, or an error. */
  readonly attempts = zeros<string>(['2xx', '4xx', '5xx', ...ATTEMPT_ERRORS]);
  /** The number of disabled webhooks, by reason. */
  readonly disabled = zeros<DisabledReason>(DISABLED_REASONS);
  readonly #client: WebhookClient;
  /** The id of this process in claims; a new one once they may have expired. */
  #instance = randomUUID();
  /** Deliveries, including ending ones, so that a webhook has only one attempt at a time. */
  readonly #running = new Map<string, Delivery>();
  #stopping = new AbortController();
  /** Resolves when no more webhooks are claimed. */
  #claiming: Promise<void> | undefined;
  /** The time when the latest renewal began; NaN without claims. */
  #renewedAt = Number.NaN;

  constructor(services: DeliveryServices) {
    this.services = services;
    this.#client = new WebhookClient(services.targets);
  }

  /** The reason why a URL is not allowed as a receiver; undefined if it is allowed. */
  refusal(url: string): string | undefined {
    return this.services.targets.refusal(url);
  }

  /** Starts delivering. Before that, only tests are sent. */
  start(): void {
    this.#stopping = new AbortController();
    this.#claiming = this.#claim(this.#stopping.signal);
  }

  /**
   * Finishes running attempts, saves the positions and ends the claims.
   *
   * @param patience the time before attempts are cut off, in milliseconds. They are then repeated later
   */
  async stop(patience = STOP_PATIENCE): Promise<void> {
    this.#stopping.abort();
    const cutOff = setTimeout(() => this.#client.close(), patience);
    await this.#claiming;
    await Promise.all(this.#endAll());
    await this.#release().catch(() => {});
    clearTimeout(cutOff);
    this.#client.close();
  }

  /** The age of the oldest event being delivered, in milliseconds. */
  get lag(): number {
    const now = this.services.clock.now();
    return Math.max(0, ...[...this.#running.values()].map(({ pendingSince = now }) => now - pendingSince));
  }

  /** Makes one attempt to send an event, and counts it. */
  readonly #attempt = async (
    { settings }: Webhook,
    event: { id: string; body: string },
  ): Promise<[WebhookAttempt, AttemptResult]> => {
    const time = this.services.clock.now();
    const began = performance.now();
    const outcome = await this.#client.send(settings.url, event, settings.secrets, time);
    const { status, error } = outcome;
    increment(this.attempts, error ?? `${Math.floor(status! / 100)}xx`);
    const ms = Math.round(performance.now() - began);
    const attempt = { eventId: event.id, time, ms, ...(status && { status }), ...(error && { error }) };
    return [attempt, outcome];
  };

  /** Sends a `webhook.test` with an id and time (milliseconds since 1970), and lists the attempt. */
  async test(webhook: Webhook, { id, time }: { id: string; time: number }): Promise<WebhookAttempt> {
    const body = JSON.stringify({ id, type: TEST_TYPE, time: formatInstant(time), data: {} });
    const [sent] = await this.#attempt(webhook, { id, body });
    const attempt = { ...sent, time };
    await this.services.store.transaction((transaction) =>
      webhookWritesOf(transaction).change(webhook.apiKeyId, webhook.id, ({ settings, progress }) => ({
        settings,
        progress: { ...progress, attempts: latestAttempts([attempt, ...progress.attempts]) },
      })),
    );
    return attempt;
  }

  readonly #report = (error: unknown): void => {
    // An unreachable database is not a webhook's fault.
    if (!isUnavailable(error)) this.services.report(error);
  };

  async #claim(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#renew().catch(this.#report);
      await sleep(INTERVAL, undefined, { signal }).catch(() => {});
    }
  }

  async #renew(): Promise<void> {
    const { store, clock, log } = this.services;
    const began = clock.monotonic();
    const isLate = () => clock.monotonic() - this.#renewedAt > CLAIM_TIME;
    // Not after the claims may have expired: deliveries that still run would save their older progress under a new claim.
    const claimed = isLate() ? [] : await webhooksOf(store).claim(this.#instance);
    // The claims may have expired, and others may have delivered and gone. So this process returns as a new instance,
    // because its unsaved progress is older than theirs. A running attempt delays only its own webhook.
    if (isLate()) {
      await this.#release();
      this.#endAll();
      return;
    }
    this.#renewedAt = began;
    const held = new Set(claimed.map(({ id }) => id));
    for (const [id, delivery] of this.#running) if (!held.has(id)) void delivery.end();
    for (const webhook of claimed) {
      const { id } = webhook;
      const running = this.#running.get(id);
      running?.restartIfChanged(webhook);
      if (running) continue;
      log.info({ webhook: id }, 'webhook claimed');
      const delivery = new Delivery(
        {
          ...this.services,
          report: this.#report,
          instance: this.#instance,
          attempt: this.#attempt,
          onDisabled: (reason) => increment(this.disabled, reason),
        },
        webhook,
      );
      this.#running.set(id, delivery);
      void delivery.done.finally(() => this.#running.delete(id));
    }
  }

  #endAll(): Promise<void>[] {
    return [...this.#running.values()].map((delivery) => delivery.end());
  }

  /** Ends the claims. */
  async #release(): Promise<void> {
    if (!Number.isNaN(this.#renewedAt)) await webhooksOf(this.services.store).release(this.#instance);
    this.#instance = randomUUID();
    this.#renewedAt = Number.NaN;
  }
}
