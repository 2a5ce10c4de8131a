import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { unavailable } from '../../src/foundation/errors.ts';
import type { ApiKey, ApiKeyChanges } from '../../src/store/stored-api-keys.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { expectWithin } from '../kit/deadline.ts';
import { EventStreamClient } from '../kit/event-stream.ts';
import { failing } from '../kit/failing.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { engines, enginesAtLength } from '../kit/stores.ts';

/** A deployment: one instance on the embedded store, two on MongoDB, each with a store of its own. */
async function deploy(engine: string, clock: Clock) {
  if (engine === 'sqlite') {
    const opened = await engines[0]!.open(clock.now);
    return { stores: [opened.store], remove: () => opened.close() };
  }
  const database = `streams-${randomUUID().slice(0, 8)}`;
  const open = () => openMongoStore({ records: api.records, uri: mongoUri(database) });
  const stores = [await open(), await open()];
  const remove = async () => {
    for (const store of stores) await store.close();
    await dropDatabase(database);
  };
  return { stores, remove };
}

describe.each(enginesAtLength.map(({ name }) => [name]))(
  'open streams of a key that changes (%s)',
  (engine) => {
    const clock = new Clock();
    let deployed: Awaited<ReturnType<typeof deploy>>;
    const instances: TestGateway[] = [];
    beforeAll(async () => {
      deployed = await deploy(engine, clock);
      for (const store of deployed.stores) instances.push(await TestGateway.start(store, {}, clock));
    });
    afterAll(async () => {
      for (const instance of instances) await instance.close();
      await deployed?.remove();
    });

    const SUBSCRIBE = JSON.stringify({ query: 'subscription { events { type } }' });
    /** A stream of events and a subscription at each instance. */
    const open = (key: string) =>
      Promise.all(
        instances.flatMap(({ url }) => [
          EventStreamClient.open({ url, key }, '/events/stream'),
          EventStreamClient.open({ url, key }, '/graphql', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: SUBSCRIBE,
          }),
        ]),
      );

    const ALL = ['events:read', '*:read'];
    const SECONDS = 1_000;
    const UNAUTHENTICATED = ['UNAUTHENTICATED', 'The API key is no longer valid.'];
    const ELSEWHERE = ['FORBIDDEN', 'The API key may not be used from this address.'];
    const ending: [what: string, change: (apiKey: ApiKey) => ApiKeyChanges | 'revoke', error: string[]][] = [
      ['revoked', () => 'revoke', UNAUTHENTICATED],
      ['expired', () => ({ expiresAt: clock.now() + 5 * SECONDS }), UNAUTHENTICATED],
      [
        'without its scope',
        () => ({ scopes: ['pets:write'] }),
        ['FORBIDDEN', 'The API key lacks the scope events:read.'],
      ],
      ['restricted to other networks', () => ({ allow: ['192.0.2.0/24', '2001:db8::/32'] }), ELSEWHERE],
    ];
    const lasting: [what: string, change: ApiKeyChanges | undefined, seen: string[]][] = [
      ['unchanged', undefined, ['category', 'order']],
      ['renamed', { name: 'other' }, ['category', 'order']],
      ['with fewer scopes', { scopes: ['events:read', 'orders:write'] }, ['order']],
      ['restricted to these networks', { allow: ['127.0.0.1', '::1'] }, ['category', 'order']],
      ['that expires later', { expiresAt: clock.now() + 3_600 * SECONDS }, ['category', 'order']],
    ];

    it('end within 5 seconds, or leave out what was lost', async () => {
      const [first] = instances;
      const make = async (expiresAt?: number) => {
        const { key, apiKey } = await first!.keyRecord({ scopes: ALL, ...(expiresAt && { expiresAt }) });
        return { apiKey, streams: await open(key) };
      };
      const ended = await Promise.all(
        ending.map(async ([what, , error]) => ({ what, error, ...(await make()) })),
      );
      const lasted = await Promise.all(
        lasting.map(async ([what, , seen]) => ({ what, seen, ...(await make()) })),
      );
      // Opened last: when these streams end, all others know their keys.
      const expiring = {
        what: 'expiring from the start',
        error: UNAUTHENTICATED,
        ...(await make(clock.now() + 5 * SECONDS)),
      };

      for (const [i, { apiKey }] of ended.entries()) {
        const change = ending[i]![1](apiKey);
        if (change === 'revoke') await first!.store.revokeApiKey(apiKey.id, clock.now());
        else await first!.store.updateApiKey(apiKey.id, change);
      }
      for (const [i, { apiKey }] of lasted.entries()) {
        const change = lasting[i]![1];
        if (change) await first!.store.updateApiKey(apiKey.id, change);
      }
      // Some may have ended already: what an instance knows of a key is forgotten in real time too.
      for (const { what, streams } of [...ended, ...lasted, expiring])
        for (const { response } of streams) expect(response.statusCode, what).toBe(200);
      clock.advance(5 * SECONDS);

      const since = performance.now();
      for (const { what, error, streams } of [...ended, expiring]) {
        for (const stream of streams) {
          await stream.ended;
          for (const part of error) expect(stream.text, what).toContain(part);
        }
      }
      // Of the 5 seconds, 4 are the clock's that tests control.
      expectWithin(5 * SECONDS, performance.now() - since);

      const { store } = instances.at(-1)!;
      await store.table(Category).insert({ name: 'Left out' });
      await store.table(Order).insert({ complete: false });
      for (const { what, seen, streams } of lasted) {
        for (const stream of streams) {
          await stream.untilText('order');
          expect(
            ['category', 'order'].filter((kind) => stream.text.includes(kind)),
            what,
          ).toEqual(seen);
          expect(stream.isOpen, what).toBe(true);
          stream.close();
        }
      }
    });
  },
);

it('are checked though the keys of others cannot be read, of which one that hangs is not read again', async () => {
  const clock = new Clock();
  const opened = await engines[0]!.open(clock.now);
  const unreadable = new Map<unknown, () => Promise<never>>();
  const reads: unknown[] = [];
  const store = failing(opened.store, /^apiKeyBySecretHash$/, ([hash], read) => {
    if (unreadable.has(hash)) reads.push(hash);
    return (unreadable.get(hash) ?? read)();
  });
  const gateway = await TestGateway.start(store, {}, clock);
  const keys = await Promise.all(Array.from({ length: 4 }, () => gateway.keyRecord({})));
  const open = (key: string) => EventStreamClient.open({ url: gateway.url, key }, '/events/stream');
  const [stuck, unknown, ...others] = await Promise.all(keys.map(({ key }) => open(key)));
  const [hanging, failed] = keys.map(({ apiKey }) => apiKey.secrets[0]!.hash);
  unreadable.set(hanging, () => new Promise(() => {}));
  unreadable.set(failed, () => Promise.reject(unavailable()));
  // The second ends in a later check than that which hangs.
  for (const [n, revoked] of others.entries()) {
    await opened.store.revokeApiKey(keys[n + 2]!.apiKey.id, clock.now());
    clock.advance(5_000);
    await revoked.ended;
    expect(revoked.text).toContain('UNAUTHENTICATED');
  }
  expect([stuck!.isOpen, unknown!.isOpen]).toEqual([true, true]);
  expect(reads.filter((hash) => hash === hanging)).toHaveLength(1);
  expect(reads).toContain(failed);
  for (const stream of [stuck, unknown]) stream!.close();
  await gateway.close();
  await opened.close();
});
