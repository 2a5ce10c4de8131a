import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, expect } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import type { MongoStore } from '../../src/store/mongo/mongo-store.ts';
import type { Call } from './gateway.ts';
import { WEBHOOKS, webhookWritesOf } from '../../src/webhooks/stored-webhooks.ts';
import { type Kit, type Sent, send, useGateway } from './petstore.ts';
import { Receiver } from './receiver.ts';
import type { Engine } from './stores.ts';

/** Permits receivers on this machine. */
export const ALLOW_LOCAL = { WEBHOOK_ALLOW: '127.0.0.0/8' };

/** Ends all claims, as if their time had passed in the database. */
export async function endClaims({ client }: MongoStore): Promise<void> {
  const webhooks = client.db().collection<{ value: string }>('webhooks');
  for (const { _id, value } of await webhooks.find().toArray()) {
    const { claim, ...webhook } = JSON.parse(value);
    const ended = JSON.stringify({ ...webhook, claim: { ...claim, until: Date.now() } });
    await webhooks.updateOne({ _id }, { $set: { value: ended } });
  }
}

type Json = Record<string, unknown>;

/** Webhooks of a gateway that delivers, and their receivers. */
export class Webhooks {
  readonly #kit: Kit;
  readonly #receivers: Receiver[] = [];

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  send(line: string, call: Omit<Call, 'method'> = {}): Promise<Sent> {
    return send(this.#kit.gateway, line, call);
  }

  async receiver(...args: Parameters<typeof Receiver.start>): Promise<Receiver> {
    const receiver = await Receiver.start(...args);
    this.#receivers.push(receiver);
    return receiver;
  }

  /** Creates a webhook. @param more what its settings have besides, and the key that creates it */
  async create(url: string, { key, ...more }: { key?: string; [name: string]: unknown } = {}): Promise<Sent> {
    const sent = await this.send('POST /webhooks', { body: { url, ...more }, ...(key && { key }) });
    expect(sent.status, sent.about).toBe(201);
    return sent;
  }

  async patch(id: string, body: Json): Promise<Sent> {
    return this.send(`PATCH /webhooks/${id}`, { body });
  }

  /** Commits an event for each of these names. */
  async write(...names: string[]): Promise<void> {
    for (const name of names) await this.#kit.gateway.store.table(Category).insert({ name });
  }

  /** Waits until a webhook, as its owner sees it, satisfies this. */
  async until(id: string, condition: (webhook: Json) => boolean): Promise<Json> {
    for (;;) {
      const { json } = await this.send(`/webhooks/${id}`);
      if (condition(json)) return json;
      await sleep(50);
    }
  }

  /** Deletes all webhooks and closes their receivers. */
  async clear(): Promise<void> {
    const { store } = this.#kit.gateway;
    for (const { apiKeyId, id } of await store.objects(WEBHOOKS).all()) {
      await store.transaction((own) => webhookWritesOf(own).delete(apiKeyId, id));
    }
    for (const receiver of this.#receivers.splice(0)) await receiver.close();
  }
}

/** Starts a gateway that delivers for the tests of this `describe`. Each test begins without webhooks. */
export function useWebhooks(engine: Engine): Kit & { webhooks: Webhooks } {
  const kit = useGateway(engine, ALLOW_LOCAL);
  const webhooks = new Webhooks(kit);
  beforeAll(() => {
    // Verifiers compare the time of a request with their own.
    kit.clock.time = Date.now();
    kit.gateway.deliver();
  });
  afterEach(() => webhooks.clear());
  return Object.assign(kit, { webhooks });
}
