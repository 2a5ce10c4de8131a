import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { TestGateway } from '../kit/gateway.ts';
import { makeWorld, query, send, sqlite, useGateway } from '../kit/petstore.ts';

describe('the log', () => {
  const kit = useGateway(sqlite);
  /** Removes and returns the lines logged so far. */
  const lines = () => kit.gateway.logs.splice(0).map((line) => JSON.parse(line));

  it('says once that a proxy is not trusted', async () => {
    lines();
    for (let n = 0; n < 3; n++)
      await send(kit.gateway, '/health/live', { key: null, headers: { 'x-forwarded-for': '192.0.2.1' } });
    const warnings = lines().filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([{ msg: 'proxy', message: expect.stringContaining('TRUST_PROXY is 0') }]);
  });

  it('has one line per request, with its operation, status, units and key id', async () => {
    const { P } = await makeWorld(kit);
    const { gateway } = kit;
    lines();
    await send(gateway, `/pets/${P}?secret=1`, { headers: { 'x-request-id': 'mine-1' } });
    await send(gateway, '/pets');
    await query(gateway, 'query Names { pets(first: 100) { nodes { orders(first: 2) { nodes { id } } } } }');
    await send(gateway, '/pets', { key: null });
    await send(gateway, '/health/live', { key: null });
    const apiKey = (await gateway.store.apiKeys())[0]!.id;
    const rest = { method: 'GET', path: '/pets', transport: 'rest' };
    const expected = [
      {
        ...rest,
        requestId: 'mine-1',
        path: `/pets/${P}`,
        operation: 'getPet',
        status: 400,
        codes: ['VALIDATION_FAILED'],
        units: 1,
        apiKey,
      },
      { ...rest, operation: 'listPets', status: 200, units: 1, apiKey },
      {
        method: 'POST',
        path: '/graphql',
        transport: 'graphql',
        operation: 'Names',
        status: 200,
        units: 3,
        apiKey,
      },
      { ...rest, status: 401, codes: ['UNAUTHENTICATED'], units: 0 },
      {
        method: 'GET',
        path: '/health/live',
        transport: 'page',
        operation: '/health/live',
        status: 200,
        units: 0,
      },
    ];
    const common = {
      level: 30,
      time: expect.any(Number),
      msg: 'request',
      ms: expect.any(Number),
      client: expect.stringContaining('127.0.0.1'),
      requestId: expect.any(String),
    };
    expect(lines()).toEqual(expected.map((line) => ({ ...common, ...line })));
  });

  it('accepts harmless request ids, replaces others and returns them in X-Request-Id', async () => {
    const { gateway } = kit;
    for (const requestId of ['a', 'A-1.b_c:d', 'x'.repeat(128)]) {
      const { headers } = await send(gateway, '/pets', { headers: { 'x-request-id': requestId } });
      expect(headers['x-request-id']).toBe(requestId);
    }
    for (const requestId of ['', 'a b', '"},{"', 'x'.repeat(129), 'ä', '{jndi:ldap://x}']) {
      const { headers } = await send(gateway, '/pets', {
        headers: { 'x-request-id': Buffer.from(requestId).toString('latin1') },
      });
      expect(headers['x-request-id']).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
    }
  });

  it('marks a request as aborted if the client disconnected before the response', async () => {
    lines();
    const socket = connect(Number(new URL(kit.gateway.url).port), '127.0.0.1');
    socket.write(
      `POST /categories HTTP/1.1\r\nhost: x\r\nx-api-key: ${kit.gateway.key}\r\ncontent-length: 9\r\n\r\n{`,
      () => socket.destroy(),
    );
    await once(socket, 'close');
    // The line of the test before may be late.
    await expect
      .poll(() => lines().filter(({ operation }) => operation === 'createCategory'))
      .toMatchObject([{ aborted: true }]);
  });

  it('has no key that somebody put into a URL or a header, and no more than 300 characters of a path', async () => {
    const { gateway } = kit;
    lines();
    await send(gateway, `/pets/${gateway.key}`, { headers: { 'x-request-id': gateway.key } });
    await send(gateway, `/${'x'.repeat(250)}/${gateway.key}/${'y'.repeat(10_000)}`);
    const logged = kit.gateway.logs.splice(0);
    expect(logged.join('')).not.toContain(gateway.key.slice(0, 20));
    const [first, second] = logged.map((line) => JSON.parse(line).path);
    expect(first).toBe('/pets/petstore_…');
    expect(second.length).toBeLessThanOrEqual(301);
  });

  it('says once that pages do not know the public address', async () => {
    const gateway = await TestGateway.start(kit.gateway.store);
    const hosts = [
      'localhost:1',
      '127.0.0.1',
      'petstore:4000',
      'petstore.default.svc.cluster.local',
      '[::1]:1',
    ];
    for (const host of [...hosts, 'api.example.org', 'shop.example.org'])
      await send(gateway, '/health/live', { key: null, headers: { host } });
    const warnings = gateway.logs.map((line) => JSON.parse(line)).filter(({ level }) => level === 40);
    expect(warnings).toMatchObject([
      { message: expect.stringMatching(/for api\.example\.org, .*PUBLIC_URL/) },
    ]);
    await gateway.close();
  });
});
