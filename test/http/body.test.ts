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

const statusesIn = (answers: string) =>
  [...answers.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));

/** Waits until what came matches. */
const until = (socket: Socket, pattern: RegExp): Promise<string> =>
  new Promise((resolve) => {
    let got = '';
    socket.on('data', (chunk) => {
      got += chunk;
      if (pattern.test(got)) resolve(got);
    });
  });

describe('a body that is not read', () => {
  const kit = useGateway(sqlite);
  const key = ({ key }: TestGateway) => `X-API-Key: ${key}`;

  it('is dropped where it is short, and the next request on the connection is answered', async () => {
    const body = '{"x":"'.padEnd(90_000, 'x');
    for (const path of ['/pets', '/graphql', '/nope']) {
      const answers = await exchangeRaw(kit.gateway.url, head(path, 'Content-Length: 90000') + body + GET);
      expect(statusesIn(answers)).toEqual([401, 200]);
      expect(answers.slice(0, answers.indexOf('\r\n\r\n'))).not.toMatch(/^Connection: close/m);
    }
  });

  it.each(['Content-Length: 100000000', 'Transfer-Encoding: chunked'])(
    'ends the connection after the answer where it may be long: %s',
    async (framing) => {
      const socket = await openRaw(kit.gateway.url);
      const answer = until(socket, /\r\n\r\n\{.*\}$/s);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.write(head('/pets', framing));
      const megabyte = Buffer.alloc(1_000_000, 'x');
      const chunk = framing.startsWith('T')
        ? Buffer.concat([Buffer.from('F4240\r\n'), megabyte, Buffer.from('\r\n')])
        : megabyte;
      let sent = 0;
      for (let i = 0; i < 100; i++) socket.write(chunk, (fault) => void (fault || sent++));
      expect(await answer).toMatch(/^HTTP\/1\.1 401 .*\r\nConnection: close\r\n/s);
      await closed;
      // What went out is what the kernels on both sides keep, and what is dropped.
      expect(sent).toBeLessThan(30);
    },
  );

  it('need not even be sent: a client that asks first is answered without it', async () => {
    const answer = await exchangeRaw(
      kit.gateway.url,
      head('/pets', 'Content-Length: 5000', 'Expect: 100-continue'),
    );
    expect(statusesIn(answer)).toEqual([401]);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    const unsupported = head(
      '/pets',
      key(kit.gateway),
      'Content-Length: 5000',
      'Content-Encoding: gzip',
      'Expect: 100-continue',
    );
    expect(statusesIn(await exchangeRaw(kit.gateway.url, unsupported))).toEqual([415]);
  });

  it('is asked for where it will be read', async () => {
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

  it('that is too large is refused as such, and the client gets to the answer', async () => {
    const { status, headers } = await kit.gateway.call('/pets', {
      method: 'POST',
      body: 'x'.repeat(5_000_000),
    });
    expect(status).toBe(413);
    expect(headers.connection).toBe('close');
  });
});
