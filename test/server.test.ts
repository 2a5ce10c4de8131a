import type { Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { HttpServer, listen, type RequestHandler, type Timeouts } from '../src/server.ts';
import { within } from './kit/deadline.ts';

const PATIENT: Timeouts = {
  headers: 60_000,
  request: 60_000,
  unread: 60_000,
  keepAlive: 60_000,
};
/** More than the kernel buffers for a client that doesn't read. */
const LARGE = 64_000_000;

const servers: HttpServer[] = [];
const open = async (serve: RequestHandler['serve'], limits: Partial<Timeouts> = {}) => {
  const server = new HttpServer({ serve }, { ...PATIENT, ...limits });
  servers.push(server);
  return { server, port: await listen(server, 0, '127.0.0.1') };
};
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const connectionsTo = (server: Server) =>
  new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));

const connectAndSend = async (port: number, bytes: string): Promise<Socket> => {
  const socket = connect(port, '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  socket.write(bytes);
  return socket;
};

/** Responds with the body of the request. */
const echo: RequestHandler['serve'] = (request, response) => {
  text(request).then(
    (body) => response.end(body),
    () => response.destroy(),
  );
};

describe('slow clients', () => {
  const rejection = async (port: number, bytes: string) => {
    const response = await text(await connectAndSend(port, bytes));
    expect(response).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(response).toContain('Content-Type: application/json');
    return JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4));
  };
  const late = { code: 'BAD_REQUEST', message: 'The request did not arrive in time.', status: 400 };

  it('responds 400 and closes the connection when the request header is late', async () => {
    const { port } = await open(echo, { headers: 200 });
    expect(await rejection(port, 'GET / HTTP/1.1\r\nhost: x\r\nx: ')).toEqual(late);
  });

  it('responds 400 and closes the connection when the body is late', async () => {
    const { port } = await open(echo, { headers: 200, request: 400 });
    expect(await rejection(port, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{')).toEqual(late);
  });

  it('responds 400 and closes the connection when nothing is sent', async () => {
    const { port } = await open(echo, { headers: 200 });
    expect(await rejection(port, '')).toEqual(late);
  });

  it('disconnects a client that reads nothing of its response, even if it keeps sending', async () => {
    const { server, port } = await open((_request, response) => response.end(Buffer.alloc(LARGE)), {
      unread: 300,
    });
    // Whenever it comes between two of the server's looks.
    await sleep(150);
    const began = performance.now();
    const socket = await connectAndSend(port, GET);
    socket.on('error', () => {});
    // It reads nothing until it is disconnected. Sending further requests does not help.
    const sending = setInterval(() => socket.write(GET), 50);
    await expect.poll(() => connectionsTo(server), { timeout: 10_000 }).toBe(0);
    expect(performance.now() - began).toBeGreaterThanOrEqual(300);
    clearInterval(sending);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
    expect(received).toBeLessThan(LARGE);
  });

  it('does not disconnect a client that reads slowly', async () => {
    const pieces = Array.from({ length: 500 }, () => Buffer.alloc(LARGE / 1_000));
    const { port } = await open((_request, response) => void Readable.from(pieces).pipe(response), {
      unread: 2_000,
    });
    const socket = await connectAndSend(port, GET);
    const began = performance.now();
    for (let received = 0; received < LARGE / 8; await sleep(30)) {
      received += (socket.read() as Buffer | null)?.length ?? 0;
      expect(socket.closed).toBe(false);
    }
    expect(performance.now() - began).toBeGreaterThan(3_000);
    socket.destroy();
  });
});

describe('pipelined requests', () => {
  const numbered = (count: number) =>
    Array.from({ length: count }, (_, n) => `GET /${n} HTTP/1.1\r\nhost: x\r\n\r\n`).join('');
  /** Answers with the path on demand. */
  const openRecording = async () => {
    const begun: { path: string; answer: () => void }[] = [];
    const opened = await open(({ url }, response) => {
      begun.push({ path: url!, answer: () => response.end(`<${url}>`) });
    });
    return { ...opened, begun };
  };

  it('are begun one after the other, and up to 16 answered in order', async () => {
    const { port, begun } = await openRecording();
    const socket = await connectAndSend(port, numbered(16));
    let received = '';
    socket.on('data', (bytes) => (received += bytes));
    for (let n = 0; n < 16; n++) {
      await expect.poll(() => begun.length).toBe(n + 1);
      expect(received).toContain(n === 0 ? '' : `</${n - 1}>`);
      begun[n]!.answer();
    }
    await expect.poll(() => received.match(/<\/\d+>/g)).toEqual(begun.map(({ path }) => `<${path}>`));
    socket.write(numbered(1));
    await expect.poll(() => begun.length).toBe(17);
    socket.destroy();
  });

  it('beyond 16 close the connection, and what waits is not begun', async () => {
    const { server, port, begun } = await openRecording();
    expect(await text(await connectAndSend(port, numbered(17))).catch(() => '')).toBe('');
    await expect.poll(() => connectionsTo(server)).toBe(0);
    expect(begun.map(({ path }) => path)).toEqual(['/0']);
  });

  it('are not begun once the client has left', async () => {
    const { server, port, begun } = await openRecording();
    const socket = await connectAndSend(port, numbered(3));
    await expect.poll(() => begun.length).toBe(1);
    socket.destroy();
    await expect.poll(() => connectionsTo(server)).toBe(0);
    begun[0]!.answer();
    await sleep(50);
    expect(begun).toHaveLength(1);
  });

  it('begin no answer for a client that reads none', async () => {
    let begun = 0;
    const { port } = await open((_request, response) => {
      begun++;
      response.end(Buffer.alloc(LARGE));
    });
    const socket = await connectAndSend(port, numbered(16));
    await expect.poll(() => begun).toBe(1);
    await sleep(200);
    expect(begun).toBe(1);
    socket.destroy();
  });
});

describe('listen', () => {
  it('rejects with an explanation if the machine does not have the address', async () => {
    // Reserved for documentation (RFC 5737), so no machine has it.
    const server = new HttpServer({ serve: echo });
    servers.push(server);
    await expect(listen(server, 8080, '192.0.2.1')).rejects.toThrow(
      'The server cannot listen on port 8080 of 192.0.2.1: this machine does not have that address. Set HOST to one of its addresses (EADDRNOTAVAIL).',
    );
  });
});

describe('malformed requests', () => {
  const POST = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab';

  it.each(['GARBAGE\r\n\r\n', 'GET / HTTP/1.1\r\nhost: x\r\nA B: 1\r\n\r\n'])(
    'are answered with 400 as JSON, but not within another response: %j',
    async (bytes) => {
      const responses: ServerResponse[] = [];
      const { port } = await open((request, response) => {
        request.resume();
        responses.push(response);
        response.writeHead(200, { 'content-length': 4 }).write('do');
      });
      const alone = await text(await connectAndSend(port, bytes));
      expect(alone).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json\r\n/);
      expect(JSON.parse(alone.slice(alone.indexOf('\r\n\r\n')))).toMatchObject({ code: 'BAD_REQUEST' });
      const within = await connectAndSend(port, POST);
      await expect.poll(() => responses.length).toBe(1);
      setTimeout(() => within.write(bytes), 20);
      expect((await text(within)).endsWith('\r\n\r\ndo')).toBe(true);
    },
  );
});

it('takes a client that closes its side of the connection before the response as gone', async () => {
  let isGone: Promise<boolean> | undefined;
  const { port } = await open((_request, response) => {
    isGone = new Promise((resolve) => response.once('close', () => resolve(response.destroyed)));
  });
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(GET);
  expect(await text(socket)).toBe('');
  expect(await isGone).toBe(true);
});

it('still sends a response that is complete to a client that closes its side', async () => {
  const { port } = await open((_request, response) => response.end('here'));
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(GET);
  expect(await text(socket)).toMatch(/here$/);
});

describe('drain', () => {
  it('completes a response that is still being sent', async () => {
    const { server, port } = await open((_request, response) => response.end(Buffer.alloc(LARGE)));
    const socket = await connectAndSend(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise((resolve) => socket.once('readable', resolve));
    const drained = server.drain();
    await sleep(1_000);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await drained;
    await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
    expect(received).toBeGreaterThan(LARGE);
  });

  it('sends Connection: close with the response to a further request', async () => {
    const { server, port } = await open(echo);
    const socket = await connectAndSend(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(first.toString()).toContain('Connection: keep-alive');
    const drained = server.drain();
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await text(socket)).toContain('Connection: close');
    await drained;
  });

  it('sends Connection: close with the response to a request that began before', async () => {
    const answers: (() => void)[] = [];
    const { server, port } = await open((_request, response) => answers.push(() => response.end('late')));
    const socket = await connectAndSend(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await expect.poll(() => answers).toHaveLength(1);
    server.retire();
    answers[0]!();
    expect(await text(socket)).toMatch(/Connection: close[^]*late/);
  });

  it('ends connections that never sent anything, whose request may be on its way, after a moment, and takes no more', async () => {
    const { server, port } = await open(echo);
    const silent = connect(port, '127.0.0.1');
    await expect.poll(() => connectionsTo(server)).toBe(1);
    const drained = within(2_000, server.drain());
    await expect(connectAndSend(port, GET).then(text)).rejects.toThrow('ECONNREFUSED');
    await drained;
    await new Promise((resolve) => (silent.closed ? resolve(null) : silent.once('close', resolve)));
  });

  it('finishes in time although a request is incomplete', async () => {
    const { server, port } = await open(echo);
    const socket = await connectAndSend(port, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{');
    await new Promise((resolve) => server.once('request', resolve));
    await within(5_000, server.drain(700));
    expect(await text(socket).catch(() => '')).toBe('');
  });
});
