import { expect, it } from 'vitest';
import { fill, makeWorld, send, sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);

it('sends Cache-Control and Vary with every read, errors and 304 included, and not with writes', async () => {
  const world = await makeWorld(kit);
  for (const line of [
    '/pets',
    '/pets/$P',
    'HEAD /pets/$P',
    '/categories',
    '/categories/$C/pets',
    '/store/orders/$O',
    '/store/inventory',
    '/pets/0',
    '/pets/9223372036854775806',
    '/nothing',
    '/graphql?query=%7Bpets%7Bnodes%7Bid%7D%7D%7D',
    '/graphql?query=%7B',
  ]) {
    for (const call of [{}, { headers: { 'if-none-match': '*' } }, { key: null }]) {
      const { headers, about } = await send(kit.gateway, fill(line, world), call);
      expect(headers['cache-control'], about).toBe('private, no-cache');
      const vary = headers.vary!.toLowerCase().split(/, */);
      expect(vary, about).toEqual(expect.arrayContaining(['accept', 'x-api-key', 'authorization']));
      expect(vary.includes('x-ratelimit-extension'), about).toBe(line.startsWith('/graphql'));
    }
  }
  for (const line of ['POST /pets', 'PATCH /pets/$P', 'DELETE /pets/$F', 'OPTIONS /pets']) {
    const { headers, about } = await send(kit.gateway, fill(line, world), { body: '{}' });
    expect([headers['cache-control'], headers.vary], about).toEqual([undefined, undefined]);
  }
});
