import { describe, expect, it } from 'vitest';
import { customerNetwork, isNetwork, NetworkList } from '../../src/access/networks.ts';
import { expectQueryRefusal, expectRefusal, type Sent, send, sqlite, useGateway } from '../kit/petstore.ts';

describe('networks', () => {
  it.each(['10.0.0.0/8', '192.0.2.1', '0.0.0.0/0', '2001:db8::/32', '::1', '::ffff:10.0.0.0/104', '::/0'])(
    'accepts %s',
    (text) => {
      expect(isNetwork(text)).toBe(true);
    },
  );

  it.each([
    '',
    'any',
    '10.0.0/8',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '2001:db8::/129',
    'fe80::1%eth0',
    '10.0.0.256',
    ' 10.0.0.1',
    'localhost',
  ])('rejects %j', (text) => {
    expect(isNetwork(text)).toBe(false);
  });

  it.each<[string[], string, boolean]>([
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['192.0.2.1'], '192.0.2.1', true],
    [['192.0.2.1'], '192.0.2.2', false],
    [['::/0'], '2001:db9::1', true],
    [['::/0'], '10.1.2.3', false],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['0.0.0.0/0', '::/0'], 'unknown', false],
    [['0.0.0.0/0', '::/0'], '', false],
    [['nonsense'], '10.0.0.1', false],
    [[], '10.0.0.1', false],
  ])('%j has %s: %s', (networks, address, expected) => {
    expect(new NetworkList(networks).has(address)).toBe(expected);
  });
});

describe('the network of a customer', () => {
  it('keeps nothing of what is no address but its digest', () => {
    expect(customerNetwork('x'.repeat(16_000))).toHaveLength(64);
  });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['192.0.2.1', '::FFFF:192.0.2.1', true],
    ['192.0.2.1', '192.0.2.1:44321', true],
    ['2001:db8:1:2::1', '[2001:db8:1:2::1]:44321', true],
    ['2001:db8:1:2::1', '[2001:db8:1:2::1]', true],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
    ['2001:db8:1:2::1', '2001:0DB8:0001:0002::9', true],
    ['fe80::1%eth0', 'fe80::2%eth1', true],
    ['192.0.2.1', '192.0.2.10', false],
    ['192.0.2.1', '2.0.2.1', false],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
    ['2001:db8:1:2::1', '2001:db8:12::1', false],
    // Not addresses; RFC 7239 section 6 allows some such identifiers.
    ['unknown', '_hidden', false],
    ['x[2001:db8:1:2::1]', '2001:db8:1:2::1', false],
    ['[2001:db8:1:2::1]x', '2001:db8:1:2::1', false],
  ])('is the same for %s and %s: %s', (address, other, expected) => {
    expect(customerNetwork(address) === customerNetwork(other)).toBe(expected);
  });
});

const ELSEWHERE = 'The API key may not be used from this address.';

describe('a key of some networks behind a proxy', () => {
  const kit = useGateway(sqlite, { TRUST_PROXY: '1' });
  const NETWORKS = { allow: ['10.0.0.0/8', '2001:db8::/32'] };
  const from = (forwarded: string, line: string, key: string, body?: object) =>
    send(kit.gateway, line, { key, headers: { 'x-forwarded-for': forwarded }, ...(body && { body }) });
  const left = ({ headers }: Sent) => Number(headers['x-ratelimit-remaining']);

  it.each<[forwarded: string, isAllowed: boolean]>([
    ['10.1.2.3', true],
    ['10.1.2.3:40000', true],
    ['::ffff:10.1.2.3', true],
    ['::FFFF:0A01:0203', true],
    ['[::ffff:10.1.2.3]:40000', true],
    ['2001:db8::1', true],
    ['[2001:db8::1]:40000', true],
    ['2001:0DB8:0:0::0001', true],
    ['192.0.2.1, 10.1.2.3', true],
    ['192.0.2.1', false],
    ['2001:db9::1', false],
    ['::ffff:192.0.2.1', false],
    // An IPv4 address in an IPv6 one of another kind (RFC 4291 section 2.5.5.1, RFC 6052).
    ['::10.1.2.3', false],
    ['64:ff9b::10.1.2.3', false],
    // What a client sends stands to the left of what the proxy saw.
    ['10.1.2.3, 192.0.2.1', false],
    ['10.1.2.3,2001:db8::1, 192.0.2.1:40000', false],
    ['10.1.2.3,,192.0.2.1,', false],
    // No addresses.
    ['unknown', false],
    ['010.1.2.3', false],
    ['167838211', false],
    ['10.1.2.3\t', true],
    ['fe80::1%eth0', false],
    ['10.1.2.3:x', false],
  ])('X-Forwarded-For: %j is allowed: %s', async (forwarded, isAllowed) => {
    const key = await kit.gateway.restrictedKey(NETWORKS);
    const sent = await from(forwarded, '/pets', key);
    if (isAllowed) expect(sent.status, sent.about).toBe(200);
    else expectRefusal(sent, 'FORBIDDEN', ELSEWHERE);
  });

  it('uses the address of the connection without X-Forwarded-For', async () => {
    const { gateway } = kit;
    const own = await gateway.restrictedKey({ allow: ['127.0.0.1'] });
    expect((await send(gateway, '/pets', { key: own })).status).toBe(200);
    expect((await from(' , ', '/pets', own)).status).toBe(200);
    expectRefusal(await from('192.0.2.2', '/pets', own), 'FORBIDDEN', ELSEWHERE);
  });

  it('counts requests from elsewhere towards the limit of their address, not the budget of the key', async () => {
    const { gateway, clock } = kit;
    const { key, apiKey } = await gateway.keyRecord(NETWORKS);
    const elsewhere = '198.51.100.7';
    const graphql = { query: '{ __typename }' };
    const requests: [line: string, body?: object][] = [
      ['/pets'],
      ['GET /pets/x'],
      ['POST /pets', {}],
      ['GET /events/stream'],
      ['GET /key'],
      ['POST /graphql', graphql],
      ['POST /graphql', [graphql, graphql]],
      ['POST /graphql/cost', graphql],
      ['GET /graphql?query=%7B__typename%7D'],
      ['POST /mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }],
    ];
    for (let i = 0; i < 60; i++) {
      const [line, body] = requests[i % requests.length]!;
      const sent = await from(elsewhere, line, key, body);
      if (line.includes('/graphql')) expectQueryRefusal(sent, 'FORBIDDEN', ELSEWHERE);
      else if (line.includes('/mcp')) expect(sent.status, sent.about).toBe(403);
      else expectRefusal(sent, 'FORBIDDEN', ELSEWHERE);
      expect(Number(sent.headers['x-ratelimit-limit']), sent.about).toBe(60);
      expect(left(sent), sent.about).toBe(59 - i);
    }
    clock.advance(20_000);
    for (const tried of [key, 'no key']) {
      const refused = await from(elsewhere, '/pets', tried);
      expectRefusal(refused, 'RATE_LIMITED');
      expect([refused.headers['retry-after'], left(refused)], refused.about).toEqual(['40', 0]);
    }
    // Other addresses have limits of their own; the owner, and other keys at this address, have their whole budgets.
    expect(left(await from('198.51.100.8', '/pets', key))).toBe(59);
    expect((await from(elsewhere, '/pets', gateway.key)).status).toBe(200);
    await gateway.flushUsage();
    expect((await gateway.store.usage([apiKey.id]))[0]).toBeNull();
    expect((await gateway.store.apiKeyById(apiKey.id))!.lastUsedAt).toBeUndefined();
    const owner = await from('10.1.2.3', '/pets', key);
    expect([owner.status, left(owner)]).toEqual([200, 999_999]);
    clock.advance(40_000);
    expect(left(await from(elsewhere, '/pets', key))).toBe(59);
  });
});

describe('a key of some networks', () => {
  const kit = useGateway(sqlite);

  it('ignores X-Forwarded-For without TRUST_PROXY', async () => {
    const { gateway } = kit;
    const headers = { 'x-forwarded-for': '10.1.2.3' };
    const here = await gateway.restrictedKey({ allow: ['127.0.0.0/8'] });
    const there = await gateway.restrictedKey({ allow: ['10.0.0.0/8'] });
    expectRefusal(await send(gateway, '/pets', { key: there, headers }), 'FORBIDDEN', ELSEWHERE);
    expect((await send(gateway, '/pets', { key: here, headers })).status).toBe(200);
  });
});

describe('a key of some networks behind two proxies', () => {
  const kit = useGateway(sqlite, { TRUST_PROXY: '2' });

  it('uses the address that the outer proxy saw', async () => {
    const { gateway } = kit;
    const key = await gateway.restrictedKey({ allow: ['10.0.0.0/8'] });
    const status = async (forwarded: string | string[]) =>
      (await send(gateway, '/pets', { key, headers: { 'x-forwarded-for': forwarded } })).status;
    expect(await status('10.1.2.3, 192.0.2.1')).toBe(200);
    expect(await status(['192.0.2.1', '10.1.2.3', '192.0.2.2'])).toBe(200);
    expect(await status('10.1.2.3, 192.0.2.1, 192.0.2.2')).toBe(403);
    expect(await status('10.1.2.3, 192.0.2.1, 10.1.2.3')).toBe(403);
  });
});
