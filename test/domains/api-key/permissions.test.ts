import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { cases } from '../../kit/cases.ts';
import { EventStreamClient } from '../../kit/event-stream.ts';
import { onEachEngine, send } from '../../kit/petstore.ts';

/** The scope of each operation, as the manual says it: none for what a key may ask of itself. */
const SCOPES: Record<string, string> = {
  'pets:read': 'listPets countPets getPet listPetsOfCategory',
  'pets:write': 'createPet replacePet updatePet deletePet',
  'categories:read': 'listCategories getCategory',
  'categories:write': 'createCategory replaceCategory updateCategory deleteCategory',
  'orders:read': 'listOrders countOrders getOrder',
  'orders:write': 'createOrder replaceOrder updateOrder deleteOrder',
  'inventory:read': 'listInventory getInventoryItem',
  'inventory:write': 'replaceInventory updateInventory adjustInventory',
  'events:read': 'listEvents streamEvents',
  'webhooks:read': 'listWebhooks getWebhook listWebhookAttempts',
  'webhooks:write': 'createWebhook updateWebhook deleteWebhook rotateWebhookSecret testWebhook',
  'keys:write': 'listKeys createKey getOwnKey updateKey deleteKey rotateOwnKey',
  'requests:read': 'listRequests',
  '': 'getKey rotateKey listUsage listUsageOfDay',
};

interface Operation {
  operationId: string;
  requestBody?: { content: Record<string, { example?: unknown }> };
}

const { paths } = JSON.parse(
  readFileSync(new URL('../../../schema/openapi.json', import.meta.url), 'utf8'),
) as { paths: Record<string, Record<string, Operation>> };

/** Every operation of the description, with a call that is well-formed. */
const OPERATIONS = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods)
    .filter(([, { operationId }]) => operationId !== undefined)
    .map(([method, { operationId, requestBody }]) => {
      const body = requestBody?.content['application/json']?.example;
      const scope = Object.keys(SCOPES).find((each) => SCOPES[each]!.split(' ').includes(operationId));
      return { operationId, method: method.toUpperCase(), path, body, scope };
    }),
);

const includes = (scopes: readonly string[] | undefined, needed: string): boolean =>
  scopes === undefined ||
  scopes.includes(needed) ||
  (needed.endsWith(':read') &&
    (scopes.includes('*:read') || scopes.includes(needed.replace(':read', ':write'))));

onEachEngine('the permissions of keys', (kit, { name: engine }) => {
  const ids = { keyId: '', webhookId: '' };

  /** The status of an operation by its id, on an own child and webhook. */
  async function statusOf(key: string, { operationId, method, path, body }: (typeof OPERATIONS)[number]) {
    const values: Record<string, string> = { ...ids, date: '2126-11-21' };
    const target = path.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? '987654321');
    const query = { countPets: '?by=status', countOrders: '?by=complete' }[operationId] ?? '';
    const line = `${method} ${target}${query}`;
    if (operationId === 'streamEvents') {
      const stream = await EventStreamClient.open(kit.gateway, target, { key });
      stream.close();
      return { status: stream.response.statusCode!, about: line };
    }
    return send(kit.gateway, line, { key, ...(body !== undefined && { body }) });
  }
  const call = async (key: string, line: string, body?: unknown) =>
    (await send(kit.gateway, line, { key, ...(body !== undefined && { body }) })).json;

  it('are described for every operation', () => {
    expect(OPERATIONS.filter(({ scope }) => scope === undefined)).toEqual([]);
    expect(OPERATIONS).toHaveLength(Object.values(SCOPES).join(' ').trim().split(' ').length);
  });

  const narrow = ['pets:read', 'orders:write', 'keys:write', 'webhooks:read'];
  const callers: [caller: string, own?: string[] | undefined, owner?: string[] | undefined][] = [
    // The example of a new key has scopes of its own.
    ...Object.keys(SCOPES)
      .filter((scope) => scope !== '' && scope !== 'keys:write')
      .map((scope): (typeof callers)[number] => [`an owner with ${scope}`, [scope]]),
    ['an owner', undefined],
    ['an owner with scopes', narrow],
    ['an owner that may read everything', ['*:read']],
    ['a child without scopes of its own', undefined, undefined],
    ['a child', narrow, undefined],
    ['a child that may read everything', ['*:read'], undefined],
    ['a child of a narrowed owner', undefined, narrow],
    ['a child whose scopes overlap with those of its narrowed owner', ['*:read', 'pets:write'], narrow],
    ['a child whose owner lost all that it has', ['inventory:write'], narrow],
  ];
  // Scopes are decided above the store, which gives them as they were written.
  const tried = engine === 'sqlite' ? callers : callers.slice(-cases(2, callers.length));
  it.each(tried)('%s may call what its scopes permit, and nothing else', async (caller, own, ofOwner) => {
    const { gateway, clock } = kit;
    const isChild = caller.startsWith('a child');
    const { key: owner, apiKey } = await gateway.keyRecord(isChild || !own ? {} : { scopes: own });
    const key = isChild ? (await call(owner, 'POST /keys', { name: 'x', scopes: own })).key : owner;
    if (ofOwner) await gateway.store.updateApiKey(apiKey.id, { scopes: ofOwner });
    ids.keyId = (await call(gateway.key, 'POST /keys', { name: 'another' })).id;
    ids.webhookId = 'whk_another';
    clock.advance(4_100);
    for (const operation of OPERATIONS) {
      const { status, about } = await statusOf(key, operation);
      const needed = operation.scope!;
      const isPermitted = needed === '' || [own, ofOwner].every((scopes) => includes(scopes, needed));
      // A child makes no keys, whatever it may do.
      const isRefused = !isPermitted || (isChild && operation.operationId === 'createKey');
      expect(status === 403, about).toBe(isRefused);
      expect(status, about).not.toBe(401);
      expect([400, 405, 406, 415, 500, 503], about).not.toContain(status);
    }
  });

  it('end with the key, its expiry and its owner, for every operation', async () => {
    const { gateway, clock } = kit;
    const expiresAt = clock.now() + 60_000;
    const { key: owner, apiKey } = await gateway.keyRecord({});
    const child = await call(owner, 'POST /keys', { name: 'x' });
    const { key: expired } = await gateway.keyRecord({ expiresAt });
    const late = await call(owner, 'POST /keys', { name: 'x', expiresAt: new Date(expiresAt).toISOString() });
    const ended = await gateway.keyRecord({ expiresAt });
    const orphan = await call(ended.key, 'POST /keys', { name: 'x' });
    const deleted = await call(owner, 'POST /keys', { name: 'x' });
    await call(owner, `DELETE /keys/${deleted.id}`);
    const of = [expired, late.key, orphan.key, deleted.key];
    clock.advance(61_000);
    for (const operation of OPERATIONS)
      for (const key of of) {
        const { status, about } = await statusOf(key, operation);
        // The guard of the address, once it has had enough of them.
        expect([401, 429], about).toContain(status);
      }
    expect((await statusOf(child.key, OPERATIONS[0]!)).status).toBe(200);
    await gateway.store.revokeApiKey(apiKey.id, clock.now());
    clock.advance(61_000);
    for (const operation of OPERATIONS.slice(0, 50)) {
      const { status, about } = await statusOf(child.key, operation);
      expect(status, about).toBe(401);
    }
  });

  it('reach nothing of another account, nor a child anything of its owner and siblings', async () => {
    const { gateway } = kit;
    const owner = await gateway.restrictedKey({});
    const [child, sibling] = [
      await call(owner, 'POST /keys', { name: 'child' }),
      await call(owner, 'POST /keys', { name: 'sibling' }),
    ];
    const webhook = await call(owner, 'POST /webhooks', { url: 'https://example.org/owner' });
    const strangers = [await gateway.restrictedKey({}), child.key];
    for (const [by, key] of strangers.entries()) {
      for (const keyId of [sibling.id, child.id]) {
        Object.assign(ids, { keyId, webhookId: webhook.id });
        for (const operation of OPERATIONS.filter(({ path }) => /\{(keyId|webhookId)\}/.test(path))) {
          // A key may always rotate itself.
          if (by === 1 && keyId === child.id && operation.operationId === 'rotateOwnKey') continue;
          const { status, about } = await statusOf(key, operation);
          expect(status, about).toBe(404);
        }
      }
    }
    for (const key of strangers)
      for (const path of ['/keys', '/webhooks']) expect(await call(key, path)).toEqual([]);
    // They are still there.
    expect(await call(owner, '/keys')).toHaveLength(2);
    expect(await call(owner, '/webhooks')).toHaveLength(1);
  });
});
