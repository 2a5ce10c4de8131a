import { expect, it } from 'vitest';
import { dataOf, expectQueryRefusal, expectRefusal, send, sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);

const members = (count: number, member = 'text/x;a=b', separator = ',') =>
  Array.from({ length: count }, () => member).join(separator);

it.each([
  ['accept', `*/*,${members(31)}`, ',text/y'],
  ['accept-encoding', members(32, 'gzip'), ',br'],
  ['accept-language', members(32, 'en'), ',de'],
  ['if-none-match', members(32, '"a"'), ',"b"'],
  ['if-none-match', members(32, '"a"', ''), '"b"'],
  ['if-match', members(32, 'W/"a"'), ',"b"'],
  ['cache-control', members(32, 'no-cache'), ',no-store'],
  ['via', members(32, '1.1 proxy'), ', 1.1 other'],
  ['x-forwarded-for', members(32, '192.0.2.1'), ', 192.0.2.2'],
  ['accept', `*/*${members(33, '', ';a=b')}`, ';a=b'],
  ['content-type', `application/json${members(33, '', ';a=b')}`, ';a=b'],
])('accepts %s with 32 members and answers 400 to more', async (name, value, more) => {
  for (const path of ['/pets', '/graphql?query=%7B__typename%7D', '/docs', '/health/live']) {
    const accepted = await send(kit.gateway, path, { headers: { [name]: value } });
    expect(accepted.status, accepted.about).toBe(200);
    const refused = await send(kit.gateway, path, { headers: { [name]: value + more } });
    const expected = [`${name}: must have at most 32 members.`, 'VALIDATION_FAILED'] as const;
    if (path.startsWith('/graphql')) expectQueryRefusal(refused, expected[1], expected[0]);
    else expectRefusal(refused, expected[1], expected[0]);
  }
});

it('refuses them after the key, for a unit, without parsing them', async () => {
  const headers = { accept: members(1_500, 'a/b') };
  for (const path of ['/pets', '/graphql']) {
    const without = await send(kit.gateway, path, { headers, key: null });
    expect(without.status, without.about).toBe(401);
    const key = await kit.gateway.newKey('free');
    const refused = await send(kit.gateway, path, { headers, key });
    expect([refused.status, refused.headers['x-ratelimit-remaining']], refused.about).toEqual([400, '59']);
  }
});

it('leaves other headers alone', async () => {
  const headers = { 'user-agent': members(200, 'x'), cookie: members(200, 'a=b', ';') };
  expect(
    dataOf(await send(kit.gateway, 'POST /graphql', { body: { query: '{ __typename }' }, headers })),
  ).toEqual({
    __typename: 'Query',
  });
});
