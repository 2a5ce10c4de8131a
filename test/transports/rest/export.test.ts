import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newApiKey } from '../../../src/access/api-keys.ts';
import { Category } from '../../../src/domains/category/category.ts';
import { Order } from '../../../src/domains/order/order.ts';
import { Pet } from '../../../src/domains/pet/pet.ts';
import type { Store } from '../../../src/store/store.ts';
import { TestGateway } from '../../kit/gateway.ts';
import { exactly, expectRefusal, onAnyEngine, send, sqlite, useGateway } from '../../kit/petstore.ts';
import { enginesAtLength, type OpenedStore } from '../../kit/stores.ts';

const NDJSON = { accept: 'application/x-ndjson' };

const COUNT = 1_500;

/** Adds categories: twice what the system keeps for a client that does not read. */
async function addCategories({ table }: Store): Promise<void> {
  const description = '🐕'.repeat(2_000);
  const names = Array.from({ length: COUNT }, (_, n) => `${n}`);
  await Promise.all(names.map((name) => table(Category).insert({ name, description })));
}

/** Opens an export whose client reads nothing yet. */
const openUnread = ({ url }: TestGateway, path: string, key: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { ...NDJSON, 'x-api-key': key };
    get(url + path, { agent: false, headers }, (response) => resolve(response.on('error', () => {}))).on(
      'error',
      reject,
    );
  });

/** Why exports have ended; those of one key if given. */
const endsOf = ({ logs }: TestGateway, apiKeyId?: string) =>
  logs
    .map((line) => JSON.parse(line))
    .filter(({ msg, apiKey }) => msg === 'stream ended' && (!apiKeyId || apiKey === apiKeyId))
    .map(({ end }) => end);

/** As Python's splitlines, by which httpx reads lines. */
const linesOf = (text: string): string[] => text.split(/[\n\r\u2028\u2029]/).slice(0, -1);
const parse = (line: string) => JSON.parse(line) as { id: number; code?: string; after?: string };

onAnyEngine('exporting a list', (kit) => {
  let categoryId: string;
  const limits = (perMinute: number) => ({ perMinute, perDay: 1_000 });

  beforeAll(async () => {
    const { store } = kit.gateway;
    ({ id: categoryId } = await store.table(Category).insert({ name: 'Dogs', description: 'They bark' }));
    // Creations in one category at the same time conflict on MongoDB, and are tried again only so often.
    for (let n = 0; n < 230; n += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, i) => n + i).map((n) =>
          store
            .table(Pet)
            .insert({ name: `Rex\u2028"${n}" 🐕`, categoryId, status: n % 3 ? 'available' : 'sold' }),
        ),
      );
    for (let n = 0; n < 3; n++) await store.table(Order).insert({ quantity: 1 + n, complete: false });
  });

  /** All pages of a list as JSON, one line per record. */
  async function paged(path: string): Promise<string[]> {
    const records: unknown[] = [];
    for (let next: string | undefined = path; next;) {
      const reply = await send(kit.gateway, next);
      expect(reply.status, reply.about).toBe(200);
      records.push(...(exactly(reply.text) as unknown[]));
      next = /<(.*)>/.exec(String(reply.headers.link))?.[1];
    }
    return records.map((record) => JSON.stringify(record));
  }

  it.each([
    '/pets',
    '/pets?status=sold&status=pending',
    '/pets?status=available&after=7',
    '/categories',
    '/categories/$C/pets?status=sold',
    '/store/orders?complete=false',
    '/store/inventory',
  ])('gives the records of %s, one per line', async (template) => {
    const path = template.replace('$C', categoryId);
    const reply = await send(kit.gateway, path, { headers: NDJSON });
    expect(reply.status, reply.about).toBe(200);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'cache-control': 'private, no-cache',
    });
    expect(reply.headers.vary).toContain('Accept');
    for (const name of ['content-length', 'link', 'etag']) expect(reply.headers).not.toHaveProperty(name);
    expect(linesOf(reply.text).map((line) => JSON.stringify(exactly(line)))).toEqual(await paged(path));
  });

  it('returns at most `limit` records, from 1 to 1,000,000', async () => {
    for (const limit of [1, 100, 101, 229]) {
      const reply = await send(kit.gateway, `/pets?limit=${limit}`, { headers: NDJSON });
      expect(linesOf(reply.text)).toHaveLength(limit);
    }
    expect(linesOf((await send(kit.gateway, '/pets?limit=1000000', { headers: NDJSON })).text)).toHaveLength(
      230,
    );
    for (const limit of ['0', '1000001', 'x', '1e3'])
      expectRefusal(
        await send(kit.gateway, `/pets?limit=${limit}`, { headers: NDJSON }),
        'VALIDATION_FAILED',
        'limit: must be an integer from 1 to 1000000.',
      );
    expectRefusal(
      await send(kit.gateway, '/pets?limit=101'),
      'VALIDATION_FAILED',
      /limit: must be an integer from 1 to 100\.$/,
    );
  });

  it.each([
    [1, 0],
    [1, 100],
    [2, 101],
    [2, 200],
    [3, 230],
  ])('costs %i for %i rows', async (units, rows) => {
    const key = await kit.gateway.newKey('enterprise', limits(100));
    const path = rows === 0 ? '/pets?after=9223372036854775807' : `/pets?limit=${rows}`;
    expect(linesOf((await send(kit.gateway, path, { key, headers: NDJSON })).text)).toHaveLength(rows);
    const { headers } = await send(kit.gateway, '/pets/1', { key });
    expect(headers['x-ratelimit-remaining']).toBe(String(100 - units - 1));
  });

  it('ends with an Error and where to go on once the budget is used up', async () => {
    const key = await kit.gateway.newKey('enterprise', limits(2));
    const reply = await send(kit.gateway, '/pets?status=sold&status=available', { key, headers: NDJSON });
    const lines = linesOf(reply.text);
    const { after, ...error } = parse(lines.pop()!);
    expect(error).toStrictEqual({
      code: 'RATE_LIMITED',
      message: expect.stringMatching(/Retry in \d+ s\.$/),
      status: 429,
    });
    expect(lines).toHaveLength(200);
    const rest = await send(kit.gateway, `/pets?status=sold&status=available&after=${after}`, {
      headers: NDJSON,
    });
    const ids = [...lines, ...linesOf(rest.text)].map((line) => parse(line).id);
    expect(ids).toEqual(Array.from({ length: 230 }, (_, n) => n + 1));
  });

  it('answers HEAD as GET but without rows, and charges the opening alone', async () => {
    const key = await kit.gateway.newKey('enterprise', limits(10));
    const reply = await send(kit.gateway, 'HEAD /pets', { key, headers: NDJSON });
    expect([reply.status, reply.text]).toEqual([200, '']);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/x-ndjson',
      'x-ratelimit-remaining': '9',
    });
    expect(reply.headers).not.toHaveProperty('content-length');
  });

  it('reports what is wrong before it begins as JSON', async () => {
    expectRefusal(
      await send(kit.gateway, '/pets?after=x&colour=red', { headers: NDJSON }),
      'VALIDATION_FAILED',
      /after: .*colour/,
    );
    expectRefusal(
      await send(kit.gateway, '/categories/999/pets', { headers: NDJSON }),
      'NOT_FOUND',
      'There is no category 999.',
    );
  });

  it.each(['/pets/1', '/events', '/store/inventory/1'])('is not acceptable for %s', async (path) => {
    expectRefusal(await send(kit.gateway, path, { headers: NDJSON }), 'NOT_ACCEPTABLE');
  });

  it('names both media types where it refuses a third', async () => {
    expectRefusal(
      await send(kit.gateway, '/pets', { headers: { accept: 'text/csv' } }),
      'NOT_ACCEPTABLE',
      'This operation responds with application/json or application/x-ndjson only.',
    );
    expectRefusal(
      await send(kit.gateway, '/pets', { headers: { accept: 'application/x-ndjson;q=0' } }),
      'NOT_ACCEPTABLE',
    );
  });
});

describe('an export', () => {
  const kit = useGateway(sqlite);
  beforeAll(() => addCategories(kit.gateway.store));

  const open = (key = kit.gateway.key) => openUnread(kit.gateway, '/categories', key);
  const readAll = async (response: IncomingMessage): Promise<string[]> => {
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += chunk;
    return linesOf(text);
  };
  const ended = (apiKeyId?: string) => endsOf(kit.gateway, apiKeyId);

  afterAll(() => expect(ended()).not.toContain('INTERNAL'));

  it('reads no faster than its client, and returns each record that exists throughout exactly once', async () => {
    const response = await open();
    // Fills the buffers of both sides.
    await expect.poll(() => response.socket.bytesRead, { interval: 50 }).toBeGreaterThan(0);
    const categories = kit.gateway.store.table(Category);
    await categories.remove(String(COUNT));
    await categories.remove('1');
    const { id } = await categories.insert({ name: 'Late' });
    await categories.update(String(COUNT - 1), { name: 'Renamed' });
    const lines = await readAll(response);
    const ids = lines.map((line) => parse(line).id);
    expect(ids).toEqual(Array.from({ length: COUNT - 1 }, (_, n) => n + 1).concat(Number(id)));
    expect(lines.at(-2)).toContain('"Renamed"');
  });
});

describe.each(enginesAtLength)('an export to a client that does not read ($name)', (engine) => {
  /** Without reading anything, in milliseconds. */
  const UNREAD = 500;
  let opened: OpenedStore;
  let gateway: TestGateway;

  beforeAll(async () => {
    opened = await engine.open();
    await addCategories(opened.store);
    const others = { headers: 60_000, request: 60_000, idle: 60_000, keepAlive: 60_000 };
    gateway = await TestGateway.start(opened.store, {}, undefined, {}, { ...others, unread: UNREAD });
  });
  afterAll(async () => {
    await gateway.close();
    await opened.close();
  });

  it('holds nothing once it leaves or has stalled: neither its place nor a snapshot of the store', async () => {
    const limits = { perMinute: 1_000, perDay: 1_000 };
    const { key, apiKey } = newApiKey({ name: 'test', plan: 'free', limits, now: gateway.clock.now() });
    await opened.store.createApiKey(apiKey);
    const open = () => openUnread(gateway, '/categories', key);
    const [leaving] = [await open(), await open()];
    const third = await open();
    expect([third.statusCode, third.headers['retry-after']]).toEqual([429, '1']);
    await opened.store.table(Category).insert({ name: 'Meanwhile' });
    opened.checkpoint?.();
    leaving.destroy();
    for (const count of [1, 2])
      await expect
        .poll(() => endsOf(gateway, apiKey.id), { timeout: 10_000 })
        .toEqual(Array(count).fill('client gone'));
    expect((await open()).statusCode).toBe(200);
  });
});
