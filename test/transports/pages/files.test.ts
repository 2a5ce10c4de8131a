import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { expectRefusal, send, sqlite, useGateway } from '../../kit/petstore.ts';

const kit = useGateway(sqlite);
const icon = readFileSync('dist/pages/favicon.svg', 'utf8');
const size = icon.length;

const ask = (headers: Record<string, string> = {}, method = 'GET') =>
  send(kit.gateway, `${method} /favicon.svg`, { key: null, headers });

it.each([
  ['bytes=0-0', 0, 0],
  ['bytes=0-', 0, size - 1],
  ['bytes=5-9', 5, 9],
  ['bytes=-3', size - 3, size - 1],
  [`bytes=2-${size + 50}`, 2, size - 1],
  ['bytes=0-3,4-5', 0, 5],
])('serves the range %s of a file', async (range, start, end) => {
  const { status, headers, text, about } = await ask({ range });
  expect(status, about).toBe(206);
  expect(text).toBe(icon.slice(start, end + 1));
  expect(headers).toMatchObject({
    'content-range': `bytes ${start}-${end}/${size}`,
    'content-length': String(end - start + 1),
    'content-type': 'image/svg+xml',
  });
});

it.each([`bytes=${size}-`, `bytes=${size + 5}-${size + 9}`, 'bytes=9-5', 'bytes=-0'])(
  'refuses the range %s, which names no byte, with 416',
  async (range) => {
    const sent = await ask({ range });
    expectRefusal(sent, 'RANGE_NOT_SATISFIABLE', /names no byte/);
    expect(sent.headers['content-range']).toBe(`bytes */${size}`);
  },
);

it('serves the whole file where a range does not apply', async () => {
  const { headers } = await ask();
  expect(headers).toMatchObject({ 'accept-ranges': 'bytes', vary: 'Accept-Encoding' });
  expect(headers.etag).toBe(`"${createHash('sha256').update(icon).digest('base64url')}"`);
  for (const range of ['bytes=x', 'lines=0-1', 'bytes=0-0,9-9'])
    expect((await ask({ range })).text, range).toBe(icon);
  const range = 'bytes=0-0';
  expect((await ask({ range, 'if-range': '"another"' })).text).toBe(icon);
  expect((await ask({ range, 'if-range': headers.etag! })).text).toBe(icon.slice(0, 1));
  expect((await ask({ range, 'if-none-match': headers.etag! })).status).toBe(304);
  const head = await ask({ range: `bytes=${size}-` }, 'HEAD');
  expect([head.status, head.headers['content-length']]).toEqual([200, String(size)]);
});

it('takes a range of the coding that it serves', async () => {
  const compressed = readFileSync('dist/pages/favicon.svg.br');
  const { headers } = await ask({ range: 'bytes=0-0', 'accept-encoding': 'br' });
  expect(headers).toMatchObject({
    'content-encoding': 'br',
    'content-range': `bytes 0-0/${compressed.length}`,
  });
});
