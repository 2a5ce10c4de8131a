import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { TestGateway } from '../kit/gateway.ts';
import { sqlite, useGateway } from '../kit/petstore.ts';
import { exchangeRaw, openRaw } from '../kit/raw.ts';

const head = (path: string, ...lines: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...lines, '', ''].join(
    '\r\n',
  );

const GET = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

const statusesIn = (responses: string) =>
  [...responses.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** Waits until the received text matches. */
const until = (socket: Socket, pattern: RegExp): Promise<string> =>
  new Promise((resolve) => {
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
      if (pattern.test(received)) resolve(received);
    });
  });

describe('request bodies that are not needed', () => {
  const kit = useGateway(sqlite);
  const key = ({ key }: TestGateway) => `X-API-Key: ${key}`;

  it('drains a short body and serves the next request on the connection', async () => {
    const body = '{"x":"'.padEnd(90_000, 'x');
    for (const path of ['/pets', '/graphql', '/nope']) {
      const responses = await exchangeRaw(kit.gateway.url, head(path, 'Content-Length: 90000') + body + GET);
      expect(statusesIn(responses)).toEqual([401, 200]);
    }
  });

  it.each(['Content-Length: 100000000', 'Transfer-Encoding: chunked'])(
    'responds while the client goes on sending: %s',
    async (framing) => {
      const socket = await openRaw(kit.gateway.url);
      const response = until(socket, /\r\n\r\n\{.*\}$/s);
      socket.write(head('/pets', framing));
      const megabyte = Buffer.alloc(1_000_000, 'x');
      const chunk = framing.startsWith('T')
        ? Buffer.concat([Buffer.from('F4240\r\n'), megabyte, Buffer.from('\r\n')])
        : megabyte;
      const sending = setInterval(() => socket.write(chunk), 20);
      expect(await response).toMatch(/^HTTP\/1\.1 401 /);
      clearInterval(sending);
      socket.destroy();
    },
  );

  it('sends 100 Continue before it reads a body, and ignores any other expectation', async () => {
    const socket = await openRaw(kit.gateway.url);
    const body = '{"name":"Dogs"}';
    socket.write(
      head('/categories', key(kit.gateway), `Content-Length: ${body.length}`, 'Expect: 100-continue'),
    );
    await until(socket, /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    const created = until(socket, /"name":"Dogs"/);
    socket.write(body);
    expect(await created).toMatch(/^HTTP\/1\.1 201 /);
    const next = until(socket, /live/);
    socket.write(GET.replace('\r\n', '\r\nExpect: other\r\n'));
    expect(await next).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  it('responds 413 to a body of 5 MB and serves the next request on the connection', async () => {
    const body = 'x'.repeat(5_000_000);
    const sent = head('/pets', key(kit.gateway), `Content-Length: ${body.length}`) + body + GET;
    expect(statusesIn(await exchangeRaw(kit.gateway.url, sent))).toEqual([413, 200]);
  });
});
