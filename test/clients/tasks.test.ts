import { createServer, type RequestListener, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Category as CategoryRecord } from '../../src/domains/category/category.ts';
import { makeWorld, send, sqlite, useGateway } from '../kit/petstore.ts';
import { cached } from './tasks/cached.ts';
import { call } from './tasks/call.ts';
import { create } from './tasks/create.ts';
import { exported } from './tasks/export.ts';
import { follow } from './tasks/follow.ts';
import { list } from './tasks/list.ts';
import { fill, type Mirror, update as updateMirror } from './tasks/mirror.ts';
import { update } from './tasks/update.ts';

interface Category {
  id: number;
  name: string;
}

/** The code of docs/tasks.md against the real gateway, with a proxy in between where the network matters. */
describe('docs/tasks.md', () => {
  const kit = useGateway(sqlite);
  let proxy: Server | undefined;
  afterEach(() => proxy?.close());

  const startProxy = async (listener: RequestListener): Promise<string> => {
    proxy = createServer(listener);
    await new Promise<void>((resolve) => proxy!.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  };

  /** A key that has used all but `left` units of a window, which ends within a second. */
  async function keyWith(left: number): Promise<string> {
    const key = await kit.gateway.newKey('free');
    for (let n = 60; n > left; n--) expect((await send(kit.gateway, '/pets', { key })).status).toBe(200);
    kit.clock.advance(59_500);
    return key;
  }

  /** The result of `work` once it was refused and has waited for the next window. */
  async function afterRefusal<T>(work: () => Promise<T>): Promise<T> {
    const began = performance.now();
    const line = kit.gateway.logs.length;
    const done = work();
    await expect
      .poll(() => kit.gateway.logs.slice(line).some((text) => text.includes('"status":429')))
      .toBe(true);
    kit.clock.advance(500);
    const result = await done;
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
    return result;
  }

  it('waits as long as Retry-After says', async () => {
    const key = await keyWith(0);
    const answer = () => call(`${kit.gateway.url}/pets`, { headers: { 'X-API-Key': key } });
    expect((await afterRefusal(answer)).status).toBe(200);
  });

  it('lists every record once', async () => {
    const { gateway } = kit;
    const { C } = await makeWorld(kit);
    for (let n = 0; n < 150; n++) await gateway.store.table(CategoryRecord).insert({ name: `Listed ${n}` });
    const listed: Category[] = [];
    for await (const one of list<Category>(`${gateway.url}/categories?limit=100`, gateway.key))
      listed.push(one);
    expect(listed.filter(({ name }) => name.startsWith('Listed'))).toHaveLength(150);
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
    expect(listed.some(({ id }) => id === Number(C))).toBe(true);
  });

  it('creates one record although the first response is lost', async () => {
    const { gateway } = kit;
    let lost = 0;
    const url = await startProxy((incoming, response) => {
      const outgoing = request(gateway.url + incoming.url, { method: 'POST', headers: incoming.headers });
      outgoing.on('response', (reply) => {
        if (lost++ === 0) response.destroy();
        else reply.pipe(response.writeHead(reply.statusCode!, reply.headers));
      });
      incoming.pipe(outgoing);
    });
    const created = await create<Category>(`${url}/categories`, gateway.key, { name: 'Once' });
    expect(lost).toBe(2);
    const names: string[] = [];
    for await (const { name } of list<Category>(`${gateway.url}/categories`, gateway.key)) names.push(name);
    expect(names.filter((name) => name === created.name)).toEqual(['Once']);
  });

  it('loses no concurrent change', async () => {
    const { gateway } = kit;
    const { id } = await gateway.store.table(CategoryRecord).insert({ name: '0' });
    const url = `${gateway.url}/categories/${id}`;
    const add = () => update<Category>(url, gateway.key, ({ name }) => ({ name: String(Number(name) + 1) }));
    await Promise.all(Array.from({ length: 5 }, add));
    expect((await send(gateway, `/categories/${id}`)).json.name).toBe('5');
  });

  it('follows changes from where it stopped', async () => {
    const { gateway } = kit;
    const types: string[] = [];
    const handle = async ({ type }: { type: string }) => void types.push(type);
    const after = await follow(gateway.url, gateway.key, undefined, handle);
    types.length = 0;
    await gateway.store.table(CategoryRecord).insert({ name: 'Later' });
    await follow(gateway.url, gateway.key, after, handle);
    expect(types).toEqual(['category.created']);
  });

  it('mirrors everything, also what changes during an export that the budget interrupts', async () => {
    const { gateway } = kit;
    const { C } = await makeWorld(kit);
    const table = gateway.store.table(CategoryRecord);
    for (let n = 0; n < 250; n++) await table.insert({ name: `Mirrored ${n}` });
    const records = new Map<string, object>();
    let isChanged = false;
    const mirror: Mirror = {
      async put(type, record) {
        const { id, petId } = record as { id?: number; petId?: number };
        records.set(`${type} ${type === 'inventory' ? petId : id}`, record);
        if (isChanged) return;
        isChanged = true;
        await table.update(C, { name: 'Changed' });
        await table.remove((await table.insert({ name: 'Gone' })).id);
      },
      async remove(type, id) {
        records.delete(`${type} ${id}`);
      },
    };
    // One unit is for the position, two for the first 200 categories.
    const key = await keyWith(3);
    const position = await afterRefusal(() => fill(gateway.url, key, mirror));
    const paths = {
      category: '/categories',
      pet: '/pets',
      order: '/store/orders',
      inventory: '/store/inventory',
    };
    const check = async () => {
      for (const [type, path] of Object.entries(paths)) {
        const own = [...records].filter(([name]) => name.startsWith(type)).map(([, record]) => record);
        const all: object[] = [];
        for await (const record of list<object>(`${gateway.url}${path}?limit=100`, gateway.key))
          all.push(record);
        const sorted = (rows: object[]) => rows.map((row) => JSON.stringify(row)).toSorted();
        expect(sorted(own)).toEqual(sorted(all));
      }
    };
    await check();
    await table.insert({ name: 'Later' });
    expect(await updateMirror(gateway.url, gateway.key, position, mirror)).not.toBe(position);
    await check();
  });

  it('ends an export with the error of a key that is no longer valid', async () => {
    const url = await startProxy((_request, response) => {
      response.end('{"id":1}\n{"code":"UNAUTHENTICATED","message":"The API key expired.","status":401}\n');
    });
    const all = async () => {
      for await (const _ of exported(`${url}/pets`, 'key'));
    };
    await expect(all()).rejects.toThrow('The API key expired.');
  });

  it('reads a cached resource anew only after it has changed', async () => {
    const { gateway } = kit;
    const { id } = await gateway.store.table(CategoryRecord).insert({ name: 'Old' });
    const read = () => cached<Category>(`${gateway.url}/categories/${id}`, gateway.key);
    const first = await read();
    expect(await read()).toBe(first);
    await gateway.store.table(CategoryRecord).update(id, { name: 'New' });
    expect((await read()).name).toBe('New');
  });
});
