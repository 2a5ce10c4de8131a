import type { Socket } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { BoundedRequest, MAX_CHUNKS } from '../../src/http/bounded-request.ts';
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
      expect(responses.slice(0, responses.indexOf('\r\n\r\n'))).not.toMatch(/^Connection: close/m);
    }
  });

  it.each(['Content-Length: 100000000', 'Transfer-Encoding: chunked'])(
    'responds and closes the connection if the body may be long: %s',
    async (framing) => {
      const socket = await openRaw(kit.gateway.url);
      const response = until(socket, /\r\n\r\n\{.*\}$/s);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(head('/pets', framing));
      const megabyte = Buffer.alloc(1_000_000, 'x');
      const chunk = framing.startsWith('T')
        ? Buffer.concat([Buffer.from('F4240\r\n'), megabyte, Buffer.from('\r\n')])
        : megabyte;
      let sent = 0;
      for (let i = 0; i < 100; i++) socket.write(chunk, (error) => void (error || sent++));
      expect(await response).toMatch(/^HTTP\/1\.1 401 .*\r\nConnection: close\r\n/s);
      await closed;
      // Only what the kernels on both sides buffer and what the gateway drains was sent.
      expect(sent).toBeLessThan(30);
    },
  );

  it('responds to Expect: 100-continue with the refusal instead of asking for the body', async () => {
    const response = await exchangeRaw(
      kit.gateway.url,
      head('/pets', 'Content-Length: 5000', 'Expect: 100-continue'),
    );
    expect(statusesIn(response)).toEqual([401]);
    expect(response).toMatch(/\r\nConnection: close\r\n/);
    const unsupported = head(
      '/pets',
      key(kit.gateway),
      'Content-Length: 5000',
      'Content-Encoding: gzip',
      'Expect: 100-continue',
    );
    expect(statusesIn(await exchangeRaw(kit.gateway.url, unsupported))).toEqual([415]);
  });

  it('sends 100 Continue before it reads a body', async () => {
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
    socket.write(GET);
    expect(await next).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });

  it('carries out nothing that follows the last response of a connection', async () => {
    const { gateway } = kit;
    const body = '{"name":"late"}';
    const next = head('/categories', key(gateway), `Content-Length: ${body.length}`) + body;
    const chunked = `${head('/pets', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`;
    expect(statusesIn(await exchangeRaw(gateway.url, chunked + next))).toEqual([401]);
    expect((await gateway.call('/categories?name=late')).text).toBe('[]');
  });

  it('responds 413 to a body of 5 MB and closes the connection', async () => {
    const { status, headers } = await kit.gateway.call('/pets', {
      method: 'POST',
      body: 'x'.repeat(5_000_000),
    });
    expect(status).toBe(413);
    expect(headers.connection).toBe('close');
  });
});

describe('a body in many chunks', () => {
  const kit = useGateway(sqlite);
  const inChunks = (count: number, key: string) =>
    `${head('/pets', 'Transfer-Encoding: chunked', 'Connection: close', `X-API-Key: ${key}`)}${'1\r\n \r\n'.repeat(count - 1)}2\r\n{}\r\n0\r\n\r\n`;

  it.each([
    [MAX_CHUNKS, 400, 'VALIDATION_FAILED'],
    [MAX_CHUNKS + 1, 413, 'PAYLOAD_TOO_LARGE'],
    [90_000, 413, 'PAYLOAD_TOO_LARGE'],
  ])('of %i is answered with %i', async (count, status, code) => {
    const response = await exchangeRaw(kit.gateway.url, inChunks(count, kit.gateway.key));
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} .*"${code}"`, 's'));
  });

  it('is not read to the end for a caller without a key', async () => {
    const push = vi.spyOn(BoundedRequest.prototype, 'push');
    const response = await exchangeRaw(kit.gateway.url, inChunks(90_000, ''));
    expect(response).toMatch(/^HTTP\/1.1 401 .*\r\nConnection: close\r\n/s);
    // A socket is read by 64 kB, which are 10,000 of these chunks.
    expect(push.mock.calls.length).toBeLessThan(300);
    push.mockRestore();
  });

  it('leaves the bodies of other connections alone', async () => {
    const { url, key } = kit.gateway;
    const connect = 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n';
    // As many as Node keeps parsers for, and more.
    const cut = Array.from({ length: 40 }, (_, n) =>
      exchangeRaw(url, inChunks(3_000, '') + (n % 2 === 0 ? connect : '')),
    );
    for (const response of await Promise.all(cut)) expect(response).toMatch(/^HTTP\/1.1 401 /);
    const whole = Array.from({ length: 40 }, () => exchangeRaw(url, inChunks(2, key)));
    for (const response of await Promise.all(whole)) expect(response).toContain('"VALIDATION_FAILED"');
  });
});
