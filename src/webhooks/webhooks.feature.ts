import { isLocalDevelopment } from '../config.ts';
import type { Feature, KeyCommand, Metric } from '../domains/feature.ts';
import { isoTime } from '../foundation/instant.ts';
import { objectPart } from '../store/dump.ts';
import { NOW } from '../store/events.ts';
import { Deliveries } from './deliveries.ts';
import { WEBHOOK_COUNTS, WEBHOOKS, webhooksOf, webhookWritesOf } from './stored-webhooks.ts';
import { Targets } from './targets.ts';
import { webhookResource } from './webhook.routes.ts';
import { addWebhooks } from './webhook.type.ts';

declare module '../schema/context.ts' {
  interface Context {
    /** Sends to the receivers of webhooks. */
    webhooks?: Pick<Deliveries, 'refusal' | 'test'>;
  }
}

/** Lists the webhooks of a key, or disables one. */
const command: KeyCommand = {
  name: 'webhooks',
  description: 'List the webhooks of a key, or disable one.',
  option: ['--disable <webhook>', 'the id of the webhook to disable'],
  async run(store, keyId, { disable }) {
    if (disable !== undefined)
      await store.transaction((transaction) =>
        webhookWritesOf(transaction).change(keyId, disable, ({ settings }) => ({
          settings: { ...settings, enabled: false },
        })),
      );
    const rows = (await webhooksOf(store).ofKey(keyId)).map(({ id, createdAt, settings, progress }) => ({
      id,
      url: settings.url,
      enabled: settings.enabled,
      createdAt: isoTime(createdAt),
      disabledReason: settings.disabledReason,
      failingSince: isoTime(progress.failing?.since),
    }));
    const cells = rows.map(({ id, url, createdAt, enabled, disabledReason = '', failingSince }) => {
      const working = failingSince === undefined ? 'enabled' : `failing since ${failingSince}`;
      return [id, url, createdAt!.slice(0, 10), enabled ? working : `disabled ${disabledReason}`];
    });
    return { rows, header: ['ID', 'URL', 'CREATED', 'STATE'], cells };
  },
};

const labelled = (name: string, counts: ReadonlyMap<string, number>) =>
  [...counts].map(([label, value]) => ({ labels: { [name]: label }, value }));

/** The metrics of a process's deliveries. */
const metricsOf = (deliveries: Deliveries): readonly Metric[] => [
  {
    type: 'counter',
    name: 'petstore_webhook_attempts_total',
    help: 'Requests to receivers of webhooks by the class of the status, or the error',
    labelNames: ['outcome'],
    values: () => labelled('outcome', deliveries.attempts),
  },
  {
    type: 'counter',
    name: 'petstore_webhooks_disabled_total',
    help: 'Webhooks that were disabled, by reason',
    labelNames: ['reason'],
    values: () => labelled('reason', deliveries.disabled),
  },
  {
    type: 'gauge',
    name: 'petstore_webhook_lag_seconds',
    help: 'Age of the oldest event that this process is delivering to a webhook',
    values: () => [{ value: deliveries.lag / 1_000 }],
  },
];

/** Deliveries of events to receivers. */
export const webhooks: Feature = {
  objects: [WEBHOOKS, WEBHOOK_COUNTS],
  resources: (types) => [webhookResource(types)],
  addTypes: addWebhooks,
  exports: [
    // Positions are not exported: the log of the new store starts over.
    objectPart('webhooks', 'webhooks with their secrets', WEBHOOKS, async (rows, store) => {
      const { next: after } = await store.eventPage({ after: NOW, limit: 1 });
      const progress = { after, moves: 0, attempted: 0, attempts: [] };
      return rows.map(({ claim, ...webhook }) => ({ ...webhook, progress }));
    }),
  ],
  keyCommands: [command],
  start({ config, ...services }) {
    const targets = new Targets(config.WEBHOOK_ALLOW, isLocalDevelopment(config));
    const deliveries = new Deliveries({ ...services, targets });
    return {
      context: { webhooks: deliveries },
      metrics: metricsOf(deliveries),
      load: () => import('undici'),
      begin: () => deliveries.start(),
      end: (patience) => deliveries.stop(patience),
    };
  },
};
