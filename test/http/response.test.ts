import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  expectAnswer,
  expectRefusal,
  fill,
  makeWorld,
  onAnyEngine,
  send,
  sqlite,
  useGateway,
} from '../kit/petstore.ts';

const OTHER = '"0000000000000000000000000000"';

/** An entity tag as proxies that compress change it. */
const compressed = (etag: string): string[] => [
  `W/${etag}`,
  ...['gzip', 'br', 'zstd'].flatMap((coding) => {
    const changed = etag.replace(/"$/, `-${coding}"`);
    return [changed, `W/${changed}`];
  }),
];

/** A resource, a body that replaces it, a merge patch that changes it, and its list. */
const RESOURCES = [
  ['/pets/$F', '{"name":"Max","categoryId":$E}', '{"status":"sold"}', '/pets'],
  ['/categories/$E', '{"name":"Cats"}', '{"description":"They purr"}', '/categories'],
  ['/store/orders/$O', '{"complete":true}', '{"quantity":7}', '/store/orders'],
  ['/store/inventory/$P', '{"quantity":9}', '{"quantity":8}', '/store/inventory'],
] as const;

onAnyEngine('ETag and If-Match', (kit) => {
  it.each(RESOURCES)(
    'writes %s only if If-Match names its current version',
    async (pattern, replacement, patch) => {
      const world = await makeWorld(kit);
      const path = fill(pattern, world);
      const put = (match: string) =>
        send(kit.gateway, `PUT ${path}`, { body: fill(replacement, world), headers: { 'if-match': match } });
      const patchWith = (match: string, body: string) =>
        send(kit.gateway, `PATCH ${path}`, { body, headers: { 'if-match': match } });

      const first = await send(kit.gateway, path);
      const etag = first.headers.etag!;
      expect(etag, first.about).toMatch(/^"[\x21\x23-\x7e]+"$/);
      for (const stale of [OTHER, `W/${OTHER}`, `${OTHER}, "x"`, etag.replace(/"$/, '-other"')]) {
        expectRefusal(await put(stale), 'PRECONDITION_FAILED');
        expectRefusal(await patchWith(stale, patch), 'PRECONDITION_FAILED');
        expectRefusal(await patchWith(stale, '{}'), 'PRECONDITION_FAILED');
      }
      expectAnswer(await send(kit.gateway, path), 200, first.text);
      for (const tag of [etag, ...compressed(etag)])
        expectAnswer(await patchWith(tag, '{}'), 200, first.text);

      const replaced = await put(`${OTHER}, ${etag}`);
      expectAnswer(replaced, 200);
      expect(replaced.headers.etag, replaced.about).not.toBe(etag);
      expect((await send(kit.gateway, path)).headers.etag).toBe(replaced.headers.etag);
      expectRefusal(await put(etag), 'PRECONDITION_FAILED');
      const patched = await patchWith(replaced.headers.etag!, patch);
      expectAnswer(patched, 200);
      expect(patched.headers.etag, patched.about).not.toBe(replaced.headers.etag);
      expectAnswer(await put('*'), 200, replaced.text);
      // The same content has the same ETag.
      expect((await send(kit.gateway, path)).headers.etag).toBe(replaced.headers.etag);
    },
  );

  it.each(RESOURCES)(
    'changes %s neither for If-None-Match: * nor for a tag without quotes',
    async (pattern) => {
      const path = fill(pattern, await makeWorld(kit));
      const { etag } = (await send(kit.gateway, path)).headers;
      for (const method of ['PATCH', 'DELETE']) {
        if (method === 'DELETE' && path.startsWith('/store/inventory')) continue;
        const write = (headers: Record<string, string>) =>
          send(kit.gateway, `${method} ${path}`, { headers, ...(method === 'PATCH' && { body: {} }) });
        for (const header of ['*', etag!])
          expectRefusal(
            await write({ 'if-none-match': header }),
            'PRECONDITION_FAILED',
            /^If-None-Match names/,
          );
        for (const header of ['If-Match', 'If-None-Match'])
          expectRefusal(
            await write({ [header]: 'abc' }),
            'VALIDATION_FAILED',
            `${header}: must be an ETag with its quotes, such as "abc", or *.`,
          );
        expectRefusal(await write({ 'if-match': '"abc"' }), 'PRECONDITION_FAILED', /Read it again/);
      }
    },
  );

  it.each(RESOURCES.slice(0, 3))('deletes %s only if If-Match names its current version', async (pattern) => {
    const path = fill(pattern, await makeWorld(kit));
    const { etag } = (await send(kit.gateway, path)).headers;
    const remove = (match: string) => send(kit.gateway, `DELETE ${path}`, { headers: { 'if-match': match } });
    expectRefusal(await remove(OTHER), 'PRECONDITION_FAILED');
    // Empty elements of a list are none (RFC 9110 section 5.6.1).
    expectAnswer(await remove(`${OTHER}, ,${etag},`), 204);
    expectRefusal(await remove(etag!), 'NOT_FOUND');
    expectRefusal(await remove('*'), 'NOT_FOUND');
  });

  it.each(RESOURCES)(
    'passes exactly one of several concurrent writes to %s with the same If-Match',
    async (pattern) => {
      const world = await makeWorld(kit);
      const path = fill(pattern, world);
      const { etag } = (await send(kit.gateway, path)).headers;
      const bodyOf = (i: number) => {
        if (path.startsWith('/store')) return `{"quantity":${20 + i}}`;
        return `{"name":"Version ${i}"}`;
      };
      const sent = await Promise.all(
        Array.from({ length: 6 }, (_, i) =>
          send(kit.gateway, `PATCH ${path}`, { body: bodyOf(i), headers: { 'if-match': etag! } }),
        ),
      );
      const passed = sent.filter(({ status }) => status === 200);
      expect(passed.map(({ about }) => about)).toHaveLength(1);
      for (const refused of sent.filter((response) => response !== passed[0]))
        expectRefusal(refused, 'PRECONDITION_FAILED');
      expectAnswer(await send(kit.gateway, path), 200, passed[0]!.text);
    },
  );

  it('changes the ETag of an inventory entry with the status of its pet, but not with its name', async () => {
    const { P } = await makeWorld(kit);
    const pet = await send(kit.gateway, `/pets/${P}`);
    expectAnswer(await send(kit.gateway, `PUT /store/inventory/${P}`, { body: { quantity: 1 } }), 200);
    expect((await send(kit.gateway, `/pets/${P}`)).headers.etag).toBe(pet.headers.etag);
    const entry = await send(kit.gateway, `/store/inventory/${P}`);
    expectAnswer(await send(kit.gateway, `PATCH /pets/${P}`, { body: { name: 'Max' } }), 200);
    expect((await send(kit.gateway, `/store/inventory/${P}`)).headers.etag).toBe(entry.headers.etag);
    expectAnswer(await send(kit.gateway, `PATCH /pets/${P}`, { body: { status: 'pending' } }), 200);
    expect((await send(kit.gateway, `/store/inventory/${P}`)).headers.etag).not.toBe(entry.headers.etag);
  });
});

describe('ETag', () => {
  const kit = useGateway(sqlite);

  it('is the SHA-256 digest of the body', async () => {
    const { P } = await makeWorld(kit);
    for (const path of [`/pets/${P}`, '/pets', '/store/inventory']) {
      const { headers, text, about } = await send(kit.gateway, path);
      expect(headers.etag, about).toBe(`"${createHash('sha256').update(text).digest('base64url')}"`);
    }
  });
});

describe('If-None-Match', () => {
  const kit = useGateway(sqlite);

  it('responds 304 to GET and HEAD if it names the current version', async () => {
    const world = await makeWorld(kit);
    const paths = [
      ...RESOURCES.flatMap(([record, , , list]) => [record, list]),
      '/categories/$C/pets',
      '/pets?status=sold',
      '/categories/$E/pets',
    ];
    for (const pattern of paths) {
      const path = fill(pattern, world);
      const get = await send(kit.gateway, path);
      const etag = get.headers.etag!;
      expect(etag, get.about).toBeDefined();
      for (const method of ['GET', 'HEAD']) {
        for (const match of [etag, ...compressed(etag), `${OTHER}, ${etag}`, '*']) {
          const sent = await send(kit.gateway, `${method} ${path}`, { headers: { 'if-none-match': match } });
          expect([sent.status, sent.text], sent.about).toEqual([304, '']);
          expect(sent.headers.etag, sent.about).toBe(etag);
          expect(sent.headers.link, sent.about).toBe(get.headers.link);
          expect(sent.headers['cache-control'], sent.about).toBe('private, no-cache');
          for (const name of [
            'x-ratelimit-limit',
            'x-ratelimit-remaining',
            'x-ratelimit-reset',
            'ratelimit',
            'ratelimit-policy',
          ]) {
            expect(sent.headers[name], `${name}${sent.about}`).toBeDefined();
          }
          expect(sent.headers['content-type'], sent.about).toBeUndefined();
        }
      }
      for (const match of [OTHER, 'x', '']) {
        expectAnswer(await send(kit.gateway, path, { headers: { 'if-none-match': match } }), 200, get.text);
      }
    }
  });

  it('is ignored for missing resources', async () => {
    expectRefusal(
      await send(kit.gateway, '/pets/9223372036854775806', { headers: { 'if-none-match': '*' } }),
      'NOT_FOUND',
    );
  });
});
