import type { Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestHandler } from '../src/gateway.ts';
import { createHttpServer, drain, listen, type TimeLimits } from '../src/server.ts';

const PATIENT: TimeLimits = { headers: 60_000, request: 60_000, silence: 60_000, keepAlive: 60_000 };
/** More than the kernel keeps for a client that doesn't read. */
const LARGE = 64_000_000;

const servers: Server[] = [];
const open = async (handler: RequestHandler, limits: Partial<TimeLimits> = {}) => {
  const server = createHttpServer(handler, { ...PATIENT, ...limits });
  servers.push(server);
  return { server, port: await listen(server, 0, '127.0.0.1') };
};
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const speak = async (port: number, bytes: string): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(bytes);
  return socket;
};

/** Answers when the body is there. */
const echo: RequestHandler = (request, response) => {
  text(request).then(
    (body) => response.end(body),
    () => response.destroy(),
  );
};

describe('a client that is slow', () => {
  const refusal = async (port: number, bytes: string) => {
    const answer = await text(await speak(port, bytes));
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(answer).toContain('Content-Type: application/json');
    return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4));
  };
  const late = { code: 'BAD_REQUEST', message: 'The request did not arrive in time.', status: 400 };

  it('with its header is told so and cut off', async () => {
    const { port } = await open(echo, { headers: 200 });
    expect(await refusal(port, 'GET / HTTP/1.1\r\nhost: x\r\nx: ')).toEqual(late);
  });

  it('with its body is told so and cut off', async () => {
    const { port } = await open(echo, { headers: 200, request: 400 });
    expect(await refusal(port, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{')).toEqual(late);
  });

  it('to say anything is cut off', async () => {
    const { port } = await open(echo, { headers: 200 });
    expect(await refusal(port, '')).toEqual(late);
  });

  it('to read its answer is cut off', async () => {
    const { port } = await open((_request, response) => response.end(Buffer.alloc(LARGE)), { silence: 300 });
    const socket = await speak(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    socket.on('error', () => {});
    // It reads nothing until the server has given it up.
    await expect
      .poll(() => new Promise((resolve) => servers[0]!.getConnections((_, count) => resolve(count))), {
        timeout: 10_000,
      })
      .toBe(0);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await new Promise((resolve) => socket.once('close', resolve));
    expect(received).toBeLessThan(LARGE);
  });

  it('holds up nobody else', async () => {
    const { port } = await open(echo, { headers: 5_000 });
    const slow = await Promise.all(
      Array.from({ length: 200 }, () => speak(port, 'GET / HTTP/1.1\r\nhost: x\r\n')),
    );
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'here' });
    expect(await response.text()).toBe('here');
    for (const socket of slow) socket.destroy();
  });
});

it('a header that is too long is told so', async () => {
  const { port } = await open(echo);
  const answer = await text(
    await speak(port, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
  );
  expect(answer).toContain('The header of the request is over 16384 bytes.');
});

describe('the end of a server', () => {
  it('cuts off no answer that is still being sent', async () => {
    const { server, port } = await open((_request, response) => response.end(Buffer.alloc(LARGE)));
    const socket = await speak(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('readable', resolve));
    const drained = drain(server);
    await sleep(1_000);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await drained;
    await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
    expect(received).toBeGreaterThan(LARGE);
  });

  it('tells connected clients that an answer is the last', async () => {
    const { server, port } = await open(echo);
    const socket = await speak(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(first.toString()).toContain('Connection: keep-alive');
    const drained = drain(server);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await text(socket)).toContain('Connection: close');
    await drained;
  });

  it('comes in time, whatever clients do', async () => {
    const { server, port } = await open(echo);
    const socket = await speak(port, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{');
    await new Promise((resolve) => server.once('request', resolve));
    const began = performance.now();
    await drain(server, 700);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await text(socket).catch(() => '')).toBe('');
  });
});
