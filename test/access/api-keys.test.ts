import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newApiKey, generateKey } from '../../src/access/api-keys.ts';
import type { ApiKey, ApiKeyChanges, PlanName } from '../../src/store/stored-api-keys.ts';
import type { Store } from '../../src/store/store.ts';
import type { Limits } from '../../src/store/limiter-algorithm.ts';
import { TestGateway } from '../kit/gateway.ts';
import { onAnyEngine, sqlite, useGateway } from '../kit/petstore.ts';

onAnyEngine('authentication', (kit) => {
  it('accepts the key in X-API-Key or as a Bearer token, never in the query string', async () => {
    const { gateway } = kit;
    expect((await gateway.call('/pets')).status).toBe(200);
    const bearer = { authorization: `Bearer ${gateway.key}` };
    expect((await gateway.call('/pets', { key: null, headers: bearer })).status).toBe(200);
    expect((await gateway.call('/pets', { key: '', headers: bearer })).status).toBe(200);
    expect((await gateway.call('/pets', { key: 'x', headers: bearer })).status).toBe(401);
    for (const path of [`/pets?api_key=${gateway.key}`, `/graphql?query={__typename}&key=${gateway.key}`]) {
      expect((await gateway.call(path, { key: null })).status).toBe(401);
    }
  });

  // RFC 9110 section 11.4: a case-insensitive scheme, spaces and one token.
  it.each([
    ['Bearer $KEY', 200],
    ['bearer $KEY', 200],
    ['BEARER   $KEY ', 200],
    ['Bearer$KEY', 401],
    ['Bearer $KEY x', 401],
    ['Bearer x $KEY', 401],
    ['x Bearer $KEY', 401],
    ['Bearer', 401],
    ['Basic $KEY', 401],
    ['$KEY', 401],
  ])('responds to Authorization: %s with %i', async (value, status) => {
    const { gateway } = kit;
    const headers = { authorization: value.replace('$KEY', gateway.key) };
    expect((await gateway.call('/pets', { key: null, headers })).status).toBe(status);
  });

  it('says what is wrong with a key: none, in the URL, cut off, mistyped, unknown, revoked, expired, replaced, of development', async () => {
    const { gateway } = kit;
    const now = gateway.clock.now();
    const at = (time: number) => new Date(time).toISOString().replace('.000Z', 'Z');
    const make = async (more: Partial<ApiKey> = {}) => {
      const made = newApiKey({ name: 'r', plan: 'pro', now, ...more });
      await gateway.store.createApiKey(made.apiKey);
      return { key: made.key, id: made.apiKey.id };
    };
    const revoked = await make();
    const expired = await make({ expiresAt: now - 1_000 });
    const replaced = await make();
    await gateway.store.revokeApiKey(revoked.id, now);
    await gateway.store.rotateApiKey(replaced.id, generateKey().secret, now - 2_000);
    const { key } = gateway;
    const mistyped = key.slice(0, -1) + (key.endsWith('x') ? 'y' : 'x');
    const faults: [path: string, key: string | null, message: string][] = [
      ['/pets', null, 'An API key is required. Send it as X-API-Key: <key> or Authorization: Bearer <key>.'],
      [
        `/pets?api_key=${key}`,
        null,
        'An API key is not accepted in the URL, where logs and histories keep it.',
      ],
      ['/pets', key.slice(0, -1), 'This is not an API key.'],
      ['/pets', mistyped, 'The API key is mistyped: its checksum does not match. Copy it again.'],
      ['/pets', generateKey().key, 'There is no such API key.'],
      ['/pets', revoked.key, `The API key was revoked at ${at(now)}.`],
      ['/pets', expired.key, `The API key expired at ${at(now - 1_000)}.`],
      ['/pets', replaced.key, `The API key was replaced by a new one and expired at ${at(now - 2_000)}.`],
    ];
    for (const [path, sent, message] of faults) {
      const reply = await gateway.call(path, { key: sent });
      expect(reply.status, message).toBe(401);
      expect(reply.headers['www-authenticate']).toBe('Bearer realm="petstore"');
      expect(reply.json.message).toContain(message);
    }
    const development = await make({ kind: 'development' });
    expect((await gateway.call('/pets', { key: development.key })).status).toBe(200);
    // A name makes no development key.
    const named = await make({ name: 'development' });
    const production = await TestGateway.start(gateway.store, { NODE_ENV: 'production' }, gateway.clock);
    expect((await production.call('/pets', { key: named.key })).status).toBe(200);
    const refused = await production.call('/pets', { key: development.key });
    expect([refused.status, refused.json.message]).toEqual([
      401,
      expect.stringMatching(/development key, which is refused in production \(NODE_ENV=production\)/),
    ]);
    await production.close();
    const overGraphql = await gateway.graphql('{ __typename }', undefined, { key: null });
    expect(overGraphql.status).toBe(401);
    expect(overGraphql.json.errors[0].extensions).toEqual({ code: 'UNAUTHENTICATED', status: 401 });
    expect(overGraphql.json).not.toHaveProperty('data');
  });

  it('does what a key may do by now within 5 seconds, wider and narrower', async () => {
    const { gateway, clock } = kit;
    const { key, apiKey } = newApiKey({ name: 'r', plan: 'free', now: clock.now() });
    await gateway.store.createApiKey(apiKey);
    const minute = (headers: Record<string, unknown>) => Number(headers['x-ratelimit-limit']);
    for (let i = 0; i < 60; i++) expect((await gateway.call('/pets', { key })).status).toBe(200);
    expect((await gateway.call('/pets', { key })).status).toBe(429);
    const free = { perMinute: 60, perDay: 1_000 };
    const pro = { perMinute: 300, perDay: 10_000 };
    const own = { perMinute: 2, perDay: 10_000 };
    for (const [changes, status, limit] of [
      // A budget that is used up grows by that of a larger plan.
      [{ plan: 'pro', limits: pro }, 200, 300],
      [{ plan: 'enterprise', limits: own }, 429, 2],
      [{ plan: 'free', limits: free }, 429, 60],
      [{ plan: 'pro', limits: pro }, 200, 300],
      [{ scopes: ['orders:read'] }, 403, 300],
      [{ scopes: ['orders:read', 'pets:read'] }, 200, 300],
      [{ scopes: ['webhooks:write'] }, 403, 300],
      [{ scopes: null }, 200, 300],
      [{ allow: ['192.0.2.0/24'] }, 403, 60],
      [{ allow: ['192.0.2.0/24', '127.0.0.1'] }, 200, 300],
      [{ expiresAt: clock.now() }, 401, 60],
      [{ expiresAt: clock.now() + 3_600_000 }, 200, 300],
      [{ expiresAt: null }, 200, 300],
    ] as const) {
      await gateway.store.updateApiKey(apiKey.id, changes as ApiKeyChanges);
      clock.advance(5_000);
      const reply = await gateway.call('/pets', { key });
      expect([reply.status, minute(reply.headers)], JSON.stringify(changes)).toEqual([status, limit]);
    }
  });
});

describe('key lookups in the store', () => {
  let gateway: TestGateway;
  let close: () => Promise<void>;
  let reads = 0;

  beforeEach(async () => {
    const opened = await sqlite.open();
    const store: Store = {
      ...opened.store,
      apiKeyBySecretHash: (hash) => {
        reads++;
        return opened.store.apiKeyBySecretHash(hash);
      },
    };
    gateway = await TestGateway.start(store);
    reads = 0;
    close = async () => {
      await gateway.close();
      await opened.close();
    };
  });
  afterEach(() => close());

  it('does not look up malformed keys', async () => {
    for (const key of [
      'x',
      gateway.key.slice(0, -1),
      `${gateway.key}x`,
      `x${gateway.key}`,
      `${gateway.key}!`,
    ]) {
      expect((await gateway.call('/pets', { key })).status).toBe(401);
    }
    expect(reads).toBe(0);
    // Once more to say what is wrong with it, which the address guard limits.
    await gateway.call('/pets', { key: generateKey().key });
    expect(reads).toBe(2);
  });
});

describe('new keys', () => {
  it('stores the SHA-256 hash and the first 15 characters of a key', () => {
    const { key, secret } = generateKey();
    expect(key).toMatch(/^petstore_[0-9A-Za-z]{49}$/);
    expect(secret).toEqual({
      hash: createHash('sha256').update(key).digest('hex'),
      prefix: key.slice(0, 15),
    });
  });

  it('ends a key with the CRC-32 of the characters before, as 6 digits of base 62', () => {
    const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
    for (let i = 0; i < 50; i++) {
      const [, secret, checksum] = /^petstore_(.{43})(.{6})$/.exec(generateKey().key)!;
      const value = [...checksum!].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0);
      expect(value).toBe(crc32(secret!));
    }
  });

  it('requires limits on the Enterprise plan and ignores them on the others', () => {
    const limits = { perMinute: 7, perDay: 8 };
    const make = (plan: PlanName, own?: Limits) => newApiKey({ name: 'x', plan, limits: own, now: 0 }).apiKey;
    expect(() => make('enterprise')).toThrow('A key on the plan enterprise needs its own limits.');
    expect(make('enterprise', limits).limits).toEqual(limits);
    expect(make('pro', limits).limits).toEqual({ perMinute: 300, perDay: 10_000 });
  });
});

describe('the address guard', () => {
  const kit = useGateway(sqlite, { TRUST_PROXY: '1' });
  const from = (address: string, key: string | null = null) =>
    kit.gateway.call('/pets', { key, headers: { 'x-forwarded-for': `203.0.113.77, ${address}` } });

  it('limits requests without a valid key to 60 per minute and address, and none with one', async () => {
    const { gateway } = kit;
    for (let i = 0; i < 60; i++) {
      const reply = await from('198.51.100.1', i % 2 ? generateKey().key : null);
      expect(reply.status).toBe(401);
      expect(reply.headers['x-ratelimit-remaining']).toBe(String(59 - i));
    }
    gateway.clock.advance(10_000);
    const refused = await from('198.51.100.1');
    expect(refused.status).toBe(429);
    expect(refused.json.code).toBe('RATE_LIMITED');
    expect(refused.headers['retry-after']).toBe('50');
    expect((await from('198.51.100.1', gateway.key)).status).toBe(200);
    expect((await from('198.51.100.2')).status).toBe(401);
    gateway.clock.advance(50_000);
    expect((await from('198.51.100.1')).status).toBe(401);
  });
});
