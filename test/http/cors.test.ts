import { describe, expect, it } from 'vitest';
import { expectAnswer, expectRefusal, query, send, sqlite, useGateway } from '../kit/petstore.ts';

const ORIGIN = 'https://shop.example';
const EXPOSED = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'RateLimit-Policy',
  'RateLimit',
  'Retry-After',
  'ETag',
  'Link',
  'Location',
  'Deprecation',
  'Sunset',
  'Idempotency-Replayed',
  'X-Request-Id',
];
const preflight = {
  origin: ORIGIN,
  'access-control-request-method': 'PATCH',
  'access-control-request-headers': 'x-api-key, if-match, idempotency-key',
};

describe('CORS for any origin', () => {
  const kit = useGateway(sqlite);

  it('lets any page read responses and their headers, errors included', async () => {
    const headers = { origin: ORIGIN };
    for (const sent of [
      await send(kit.gateway, '/pets', { headers }),
      await send(kit.gateway, '/nothing', { headers }),
      await send(kit.gateway, '/pets', { headers, key: null }),
      await send(kit.gateway, '/health/live', { headers, key: null }),
      await query(kit.gateway, '{ __typename }', undefined, { headers }),
      await query(kit.gateway, '{', undefined, { headers }),
    ]) {
      expect(sent.headers['access-control-allow-origin'], sent.about).toBe('*');
      const exposed = sent.headers['access-control-expose-headers']?.split(', ');
      expect(exposed, sent.about).toEqual(expect.arrayContaining(EXPOSED));
      expect(sent.headers['access-control-allow-credentials'], sent.about).toBeUndefined();
    }
    expect((await send(kit.gateway, '/pets')).headers['access-control-allow-origin']).toBeUndefined();
  });

  it('responds 204 to preflights, with or without a key and free of charge', async () => {
    for (const key of [kit.gateway.key, null]) {
      const before = await send(kit.gateway, '/pets');
      for (const path of ['/pets/1', '/graphql', '/store/orders', '/nothing']) {
        const sent = await send(kit.gateway, `OPTIONS ${path}`, { key, headers: preflight });
        expect([sent.status, sent.text], sent.about).toEqual([204, '']);
        expect(sent.headers['access-control-allow-origin'], sent.about).toBe('*');
        expect(sent.headers['access-control-allow-methods'], sent.about).toMatch(/\bPATCH\b/);
        expect(sent.headers['access-control-allow-headers'], sent.about).toBe(
          preflight['access-control-request-headers'],
        );
        expect(Number(sent.headers['access-control-max-age']), sent.about).toBeGreaterThan(0);
      }
      const after = await send(kit.gateway, '/pets');
      expect(
        Number(before.headers['x-ratelimit-remaining']) - Number(after.headers['x-ratelimit-remaining']),
      ).toBe(1);
    }
    const guard = await send(kit.gateway, '/pets', { key: null });
    expect(guard.headers['x-ratelimit-remaining'], guard.about).toBe('58');
  });

  it('requires a key for an OPTIONS request that is not a preflight', async () => {
    const { about, status } = await send(kit.gateway, 'OPTIONS /pets', {
      key: null,
      headers: { origin: ORIGIN },
    });
    expect(status, about).toBe(401);
  });
});

describe('CORS for listed origins', () => {
  const kit = useGateway(sqlite, { CORS_ORIGIN: 'https://one.example, https://shop.example' });

  it('allows the listed origins only and sends Vary: Origin', async () => {
    for (const [origin, allowed] of [
      [ORIGIN, ORIGIN],
      ['https://one.example', 'https://one.example'],
      ['https://evil.example', undefined],
      ['https://shop.example.evil.example', undefined],
      ['null', undefined],
      [undefined, undefined],
    ]) {
      const headers = origin === undefined ? undefined : { origin };
      for (const sent of [
        await send(kit.gateway, '/pets', { headers }),
        await send(kit.gateway, 'OPTIONS /pets', {
          headers: { ...preflight, ...(headers ?? { origin: 'https://x.example' }) },
        }),
      ]) {
        expect(sent.headers['access-control-allow-origin'], sent.about).toBe(allowed);
        expect(sent.headers.vary?.split(', '), sent.about).toContain('Origin');
      }
    }
    expectAnswer(await send(kit.gateway, '/pets', { headers: { origin: 'https://evil.example' } }), 200);
    expectRefusal(await send(kit.gateway, '/nothing', { headers: { origin: ORIGIN } }), 'NOT_FOUND');
  });
});
