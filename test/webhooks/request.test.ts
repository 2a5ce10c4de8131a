import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { newSigningSecret } from '../../src/webhooks/webhook.ts';
import { WebhookClient } from '../../src/webhooks/request.ts';
import { Targets } from '../../src/webhooks/targets.ts';
import { within } from '../kit/deadline.ts';

const servers: Server[] = [];
const sockets = new Set<Socket>();
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers.splice(0)) server.close();
});

/** A listener that handles raw connections. @returns its port */
async function listen(handle: (socket: Socket, text: string) => void): Promise<number> {
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => handle(socket, data.toString()));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const EVENT = { id: 'x', body: '{}' };
const client = new WebhookClient(new Targets(['127.0.0.0/8']), 300);
const send = (port: number, protocol = 'http') =>
  client.send(`${protocol}://127.0.0.1:${port}/`, EVENT, [newSigningSecret()], Date.now());

it.each<[string, (socket: Socket) => void, object]>([
  ['acknowledges', (socket) => socket.write('HTTP/1.1 204 No Content\r\n\r\n'), { status: 204 }],
  ['resets the connection', (socket) => socket.resetAndDestroy(), { error: 'connect' }],
  ['closes the connection', (socket) => socket.end(), { error: 'connect' }],
  ['never answers', () => {}, { error: 'timeout' }],
  ['answers what is not HTTP', (socket) => socket.write('hello\r\n\r\n'), { error: 'connect' }],
  [
    'sends its head byte by byte',
    (socket) => {
      const text = `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100)}\r\n\r\n`;
      let at = 0;
      const timer = setInterval(() => (at < text.length ? socket.write(text[at++]!) : undefined), 20);
      socket.once('close', () => clearInterval(timer));
    },
    { error: 'timeout' },
  ],
  [
    'redirects inside',
    (socket) =>
      socket.write('HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n'),
    { status: 301, error: 'redirect' },
  ],
  [
    'asks to wait',
    (socket) => socket.write('HTTP/1.1 429 No\r\nRetry-After: 30\r\nContent-Length: 0\r\n\r\n'),
    { status: 429, retryAfter: 30_000 },
  ],
  [
    'switches protocols',
    (socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    { error: 'connect' },
  ],
  [
    'sends a head of more than 16 kB',
    (socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(17_000)}\r\nContent-Length: 0\r\n\r\n`),
    { error: 'connect' },
  ],
])('reports the outcome of a receiver that %s', async (_what, handle, outcome) => {
  expect(await send(await listen(handle))).toEqual(outcome);
});

it('takes the head of a response for it, and closes the connection of an endless body', async () => {
  let closed: Promise<unknown> | undefined;
  const port = await listen((socket) => {
    closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const timer = setInterval(() => socket.write('x'.repeat(10_000)), 5);
    socket.once('close', () => clearInterval(timer));
  });
  expect(await within(250, send(port))).toEqual({ status: 200 });
  await closed;
});

it('distinguishes a failed handshake from a refused connection', async () => {
  const plain = await listen((socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
  expect(await send(plain, 'https')).toEqual({ error: 'tls' });
  const gone = await listen(() => {});
  servers.at(-1)!.close();
  expect(await send(gone)).toEqual({ error: 'connect' });
});

it.each([['103 Early Hints'], ['100 Continue']])('ends at endless interim responses: %s', async (status) => {
  let closed: Promise<unknown> | undefined;
  const port = await listen((socket) => {
    closed = new Promise((resolve) => socket.once('close', resolve));
    const many = `HTTP/1.1 ${status}\r\n\r\n`.repeat(100);
    const timer = setInterval(() => socket.write(many), 1);
    socket.once('close', () => clearInterval(timer));
  });
  expect(await send(port)).toEqual({ error: 'connect' });
  await closed;
});

it.each([
  [5, { status: 204 }],
  [6, { error: 'connect' }],
])('after %i interim responses gives %o', async (count, outcome) => {
  const port = await listen((socket) => {
    socket.write(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(count)}HTTP/1.1 204 No Content\r\n\r\n`);
  });
  expect(await send(port)).toEqual(outcome);
});

it('reuses connections', async () => {
  let connections = 0;
  let requests = 0;
  const port = await listen((socket) => {
    requests++;
    socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  });
  servers.at(-1)!.on('connection', () => connections++);
  for (let i = 0; i < 6; i++) expect(await send(port)).toEqual({ status: 204 });
  expect(requests).toBe(6);
  // The second may begin before the first connection is known to be free.
  expect(connections).toBeLessThanOrEqual(2);
});
