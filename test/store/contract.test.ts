import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { AppError } from '../../src/foundation/errors.ts';
import type { ApiKey } from '../../src/store/stored-api-keys.ts';
import type { Store, Transaction } from '../../src/store/store.ts';
import { DAY } from '../../src/foundation/instant.ts';
import { webhooksOf, webhookWritesOf } from '../../src/webhooks/stored-webhooks.ts';
import { errorOf } from '../kit/errors.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

// Far ahead: MongoDB removes what has expired by its own clock.
const T = Date.parse('2126-03-01T12:00:00Z');

describe.each(engines)('$name', (engine) => {
  let opened: OpenedStore;
  let store: Store;

  beforeAll(async () => {
    opened = await engine.open();
    store = opened.store;
  });
  afterAll(() => opened.close());

  it('assigns no id that another record of the same batch has chosen', async () => {
    const orders = store.table(Order);
    const next = Number((await orders.insert({})).id) + 1;
    const added = await orders.insertAll([{ id: `${next + 1}` }, {}, { id: `${next}` }, {}]);
    expect(added.map(({ id }) => Number(id) - next)).toEqual([1, 2, 0, 3]);
  });

  it('has few ids skipped by chosen ones, however far apart', async () => {
    const orders = store.table(Order);
    const next = BigInt((await orders.insert({})).id) + 1n;
    const distances = Array.from({ length: 110 }, (_, n) =>
      n < 50 ? BigInt(n) : 48n + 2n ** BigInt(n - 49),
    );
    await orders.insertAll(distances.map((distance) => ({ id: String(next + distance) })));
    expect(BigInt((await orders.insert({})).id) - next).toBeLessThan(2n ** 40n);
  });

  it('shows a page as it is after each write, however often it was read', async () => {
    const { id: categoryId } = await store.table(Category).insert({ name: 'Dogs' });
    const pets = store.table(Pet);
    const { id } = await pets.insert({ name: 'Rex', categoryId });
    for (const [write, left] of [
      [() => pets.update(id, { name: 'Max' }), ['Max']],
      [() => pets.insert({ name: 'Tom', categoryId }), ['Max', 'Tom']],
      [() => pets.remove(id), ['Tom']],
    ] as const) {
      const names = async () => (await pets.page({ categoryId }, { limit: 5 })).items.map(({ name }) => name);
      for (let times = 0; times < 3; times++) await names();
      await write();
      expect(await names()).toEqual(left);
    }
  });

  describe('a transaction', () => {
    it.each<[outcome: string, fault?: Error]>([
      ['is committed'],
      ['fails', new AppError('CONFLICT', 'no')],
      ['meets a mistake', new TypeError('a mistake')],
    ])('shows others nothing of itself until it %s', async (_outcome, fault) => {
      const { id: categoryId } = await store.table(Category).insert({ name: 'Before' });
      const pet = await store.table(Pet).insert({ name: 'Before', categoryId, status: 'available' });
      const gone = await store.table(Pet).insert({ name: 'Gone', categoryId, status: 'available' });
      const look = async () => ({
        byIds: await store.table(Pet).byIds([pet.id, gone.id]),
        page: await store.table(Pet).page({ categoryId }, { limit: 5 }),
        pages: await store.table(Pet).pagesByParent('categoryId', [categoryId], {}, { limit: 5 }),
        count: await store.table(Pet).count({ categoryId }),
      });
      const before = await look();
      let created: Pet;
      // The embedded engine answers them once the transaction has ended.
      const looks: Promise<object>[] = [];
      const others = async () => {
        const seen = look();
        if (store.engine === 'mongodb') expect(await seen).toEqual(before);
        else looks.push(seen);
      };
      const work = async ({ table }: Transaction) => {
        const changed = await table(Pet).update(pet.id, { name: 'Within' });
        await others();
        await table(Pet).remove(gone.id);
        created = await table(Pet).insert({ name: 'New', categoryId, status: 'sold' });
        await new Promise((resolve) => setImmediate(resolve));
        await others();
        if (fault) throw fault;
        return changed;
      };
      const call = { apiKeyId: 'key', idempotencyKey: randomUUID(), fingerprint: 'a', now: T, keepFor: DAY };
      const once = () => store.once(call, work);
      if (fault) {
        expect(await errorOf(() => store.transaction(work))).toBe(fault);
        expect([await errorOf(once), await errorOf(once)]).toEqual([fault, fault]);
        for (const seen of [...looks, look()]) expect(await seen).toEqual(before);
        expect(await store.table(Pet).byIds([created!.id])).toEqual([null]);
        return;
      }
      const { value } = await once();
      const items = [value!, created!];
      const page = { items, hasMore: false };
      expect(await once()).toEqual({ replayed: true, value });
      const after = { byIds: [value, null], page, pages: [page], count: 2 };
      expect(await look()).toEqual(after);
      for (const seen of looks) expect([before, after]).toContainEqual(await seen);
      const next = await store.table(Pet).insert({ name: 'Next', categoryId, status: 'sold' });
      expect(items.map(({ id }) => id)).not.toContain(next.id);
    });

    it('refuses a second write of work that has said that it makes a single one', async () => {
      const { id } = await store.table(Category).insert({ name: 'Once' });
      const call = { apiKeyId: 'key', idempotencyKey: randomUUID(), fingerprint: 'a', now: T, keepFor: DAY };
      const work = async ({ table }: Transaction) => {
        await table(Category).update(id, { name: randomUUID() });
        await table(Category).insert({ name: 'Second' });
      };
      const fault = 'A single write was followed by another: leave out `single`.';
      await expect(store.transaction(work, 'single')).rejects.toThrow(fault);
      await expect(store.once({ ...call, how: 'single' }, work)).rejects.toThrow(fault);
      // What changes nothing is no write.
      const changed = store.transaction(async ({ table }) => {
        const { name } = await table(Category).update(id, {});
        return await table(Category).update(id, { name: `${name}!` });
      }, 'single');
      expect((await changed).name).toMatch(/!$/);
    });
  });

  describe('API keys', () => {
    let created = T;
    const newKey = (overrides: Partial<ApiKey> = {}): ApiKey => ({
      id: randomUUID(),
      name: '$x',
      plan: 'enterprise',
      limits: { perMinute: 7_000, perDay: 1e10 },
      createdAt: created++,
      secrets: [{ hash: randomUUID(), prefix: '$p' }],
      ...overrides,
    });

    it('finds keys by the hash of a secret, and lists them oldest first', async () => {
      const newer = newKey({ createdAt: T + 5_000 });
      const secrets = [{ hash: randomUUID(), prefix: 'pk_cd', expiresAt: T + 1 }];
      const older = newKey({ secrets, revokedAt: T + 9 });
      await store.createApiKey(newer);
      await store.createApiKey(older);
      expect(await store.apiKeyBySecretHash(newer.secrets[0]!.hash)).toStrictEqual(newer);
      expect(await store.apiKeyBySecretHash(older.secrets[0]!.hash)).toStrictEqual(older);
      expect(await store.apiKeyBySecretHash('nothing')).toBeNull();
      const others = [3_000, 1_000, 4_000, 2_000].map((age) => newKey({ createdAt: T + age }));
      for (const key of others) await store.createApiKey(key);
      const created = new Set([newer, older, ...others].map(({ id }) => id));
      const listed = (await store.apiKeys()).filter(({ id }) => created.has(id));
      const [third, first, fourth, second] = others;
      expect(listed).toStrictEqual([older, first, second, third, fourth, newer]);
    });

    it('stores the restrictions of a key, and changes only the given properties', async () => {
      const restrictions = {
        expiresAt: T + 50,
        scopes: ['pets:read', 'orders:write'],
        allow: ['10.0.0.0/8'],
        documents: 'report:web',
      };
      const key = newKey({ lastUsedAt: T + 3 });
      const restricted = { ...key, ...restrictions };
      await store.createApiKey(restricted);
      expect(await store.apiKeyById(key.id)).toStrictEqual(restricted);
      const renamed = { ...restricted, name: 'Other', expiresAt: T + 60 };
      expect(await store.updateApiKey(key.id, { name: 'Other', expiresAt: T + 60 })).toStrictEqual(renamed);
      expect(await store.updateApiKey(key.id, {})).toStrictEqual(renamed);
      const limits = { perMinute: 300, perDay: 10_000 };
      const widened = { expiresAt: null, scopes: null, allow: null, documents: null, limits };
      const bare = { ...key, name: 'Other', plan: 'pro' as const, limits };
      expect(await store.updateApiKey(key.id, { plan: 'pro', ...widened })).toStrictEqual(bare);
      expect(await store.apiKeyById(key.id)).toStrictEqual(bare);
      expect(await store.updateApiKey(key.id, restrictions)).toStrictEqual({ ...bare, ...restrictions });
      expect(await store.apiKeyById('nothing')).toBeNull();
      expect(await store.updateApiKey('nothing', { name: 'x' })).toBeNull();
      await store.revokeApiKey(key.id, T + 10);
      expect(await store.updateApiKey(key.id, { name: 'x' })).toBeNull();
      expect(await store.updateApiKey(key.id, {})).toBeNull();
      expect(await store.apiKeyById(key.id)).toMatchObject({ name: 'Other', ...restrictions });
      expect(await store.revokeApiKey(key.id, T + 20)).toMatchObject({ revokedAt: T + 10 });
      expect(await store.revokeApiKey('nothing', T)).toBeNull();
    });

    it('adds a secret on rotation and makes the others expire', async () => {
      const soon = { hash: randomUUID(), prefix: 'pk_1', expiresAt: T + 5 };
      const never = { hash: randomUUID(), prefix: 'pk_2' };
      const late = { hash: randomUUID(), prefix: 'pk_3', expiresAt: T + 5_000 };
      const key = newKey({ secrets: [soon, never, late] });
      await store.createApiKey(key);
      const secret = { hash: randomUUID(), prefix: '$q' };
      const rotated = await store.rotateApiKey(key.id, secret, T + 100);
      expect(rotated).toEqual({
        ...key,
        secrets: [soon, { ...never, expiresAt: T + 100 }, { ...late, expiresAt: T + 100 }, secret],
      });
      expect(await store.apiKeyBySecretHash(secret.hash)).toEqual(rotated);
      await store.revokeApiKey(key.id, T);
      expect(await store.rotateApiKey(key.id, secret, T)).toBeNull();
    });
  });

  it('keeps the usage across a restart', async () => {
    const own = await engine.open(() => T);
    try {
      const charge = { apiKeyId: 'k', limits: { perMinute: 2, perDay: 3 }, cost: 1, now: T };
      await own.store.charge(charge);
      await own.store.charge(charge);
      const { verdict, usage } = await own.store.charge(charge);
      expect(verdict).toBe('refused');
      const again = await own.reopen();
      expect(await again.usage(['k'])).toEqual([usage]);
      expect((await again.charge({ ...charge, now: T + 1 })).usage.strikes).toEqual([T + 1]);
    } finally {
      await own.close();
    }
  });

  it('keeps what was delivered while the settings of a webhook change', async () => {
    const instance = randomUUID();
    for (let round = 0; round < 10; round += 1) {
      const id = randomUUID();
      const apiKeyId = randomUUID();
      const settings = { url: 'https://example.com/', enabled: true, secrets: [] };
      const progress = { after: '', moves: 0, attempted: 0, attempts: [] };
      const changed = { ...settings, types: ['pet.created' as const] };
      const created = { id, apiKeyId, createdAt: T, version: 1, settings, progress };
      await store.transaction((own) => webhookWritesOf(own).create(created, 1));
      await webhooksOf(store).claim(instance);
      const delivered = { ...progress, after: 'later', attempted: 1 };
      await Promise.all([
        webhooksOf(store).saveProgress(instance, { ...created, progress: delivered }),
        store.transaction((own) => webhookWritesOf(own).change(apiKeyId, id, () => ({ settings: changed }))),
      ]);
      expect(await webhooksOf(store).byId(id)).toMatchObject({ settings: changed, progress: delivered });
      await store.transaction((own) => webhookWritesOf(own).delete(apiKeyId, id, () => {}));
    }
  });
});
