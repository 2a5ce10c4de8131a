import type { Server, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestHandler } from '../src/gateway.ts';
import { UnreadResponses } from '../src/http/unread-responses.ts';
import { createHttpServer, drain, listen, type Timeouts } from '../src/server.ts';

const PATIENT: Timeouts = {
  headers: 60_000,
  request: 60_000,
  unread: 60_000,
  idle: 60_000,
  keepAlive: 60_000,
};
/** More than the kernel buffers for a client that doesn't read. */
const LARGE = 64_000_000;

const servers: Server[] = [];
const open = async (handler: RequestHandler, limits: Partial<Timeouts> = {}, unread?: UnreadResponses) => {
  const server = createHttpServer(handler, { ...PATIENT, ...limits }, unread);
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
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write(bytes);
  return socket;
};

/** Responds with the body of the request. */
const echo: RequestHandler = (request, response) => {
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
    const socket = await connectAndSend(port, GET);
    socket.on('error', () => {});
    // It reads nothing until it is disconnected. Sending further requests does not help.
    const sending = setInterval(() => socket.write(GET), 50);
    await expect.poll(() => connectionsTo(server), { timeout: 10_000 }).toBe(0);
    clearInterval(sending);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
    expect(received).toBeLessThan(LARGE);
  });

  it('does not disconnect a client that reads slowly', { timeout: 30_000 }, async () => {
    const { port } = await open((_request, response) => response.end(Buffer.alloc(LARGE / 2)), {
      unread: 1_000,
    });
    const socket = await connectAndSend(port, GET);
    const began = performance.now();
    let received = 0;
    while (received < LARGE / 2) {
      received += (socket.read() as Buffer | null)?.length ?? 0;
      expect(socket.closed).toBe(false);
      await sleep(10);
    }
    expect(performance.now() - began).toBeGreaterThan(2_000);
    socket.destroy();
  });

  it('serves another client while 200 have not completed their headers', async () => {
    const { port } = await open(echo, { headers: 5_000 });
    const slow = await Promise.all(
      Array.from({ length: 200 }, () => connectAndSend(port, 'GET / HTTP/1.1\r\nhost: x\r\n')),
    );
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: 'here' });
    expect(await response.text()).toBe('here');
    for (const socket of slow) socket.destroy();
  });
});

describe('listen', () => {
  it('rejects with an explanation if the machine does not have the address', async () => {
    // Reserved for documentation (RFC 5737), so no machine has it.
    const server = createHttpServer(echo);
    servers.push(server);
    await expect(listen(server, 8080, '192.0.2.1')).rejects.toThrow(
      'The server cannot listen on port 8080 of 192.0.2.1: this machine does not have that address. Set HOST to one of its addresses (EADDRNOTAVAIL).',
    );
  });
});

it('rejects a request header of more than 16384 bytes with a message', async () => {
  const { port } = await open(echo);
  const response = await text(
    await connectAndSend(port, `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`),
  );
  expect(response).toContain('The request headers exceed 16384 bytes.');
});

describe('unread responses', () => {
  const SIZE = 16_000_000;
  const MAX_UNREAD = 50_000_000;
  const CLIENTS = 20;

  /** Connects clients that do not read, one after another. @returns how many stay connected */
  const connectionsKept = async (body: string | Buffer) => {
    const { server, port } = await open(
      (_request, response) => response.end(body),
      {},
      new UnreadResponses(MAX_UNREAD),
    );
    let requests = 0;
    server.prependListener('request', () => requests++);
    const sockets: Socket[] = [];
    for (let i = 0; i < CLIENTS; i++) {
      const socket = await connectAndSend(port, GET);
      socket.on('error', () => {});
      sockets.push(socket);
    }
    await expect.poll(() => requests).toBe(CLIENTS);
    const count = await connectionsTo(server);
    // The latest client is still served.
    let received = 0;
    sockets.at(-1)!.on('data', (chunk) => {
      received += chunk.length;
    });
    await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThan(SIZE);
    for (const socket of sockets) socket.destroy();
    return count;
  };

  it('disconnects clients when they exceed the limit in total, but not the latest one', async () => {
    const count = await connectionsKept('x'.repeat(SIZE));
    expect(count).toBeGreaterThanOrEqual(2);
    // The kernel buffers a part of each response.
    expect(count).toBeLessThan(CLIENTS / 2);
  });

  it('counts bytes, whatever the script', async () => {
    const [latin, kana] = [
      await connectionsKept('x'.repeat(SIZE)),
      await connectionsKept('ア'.repeat(SIZE / 3)),
    ];
    expect(Math.abs(latin - kana)).toBeLessThanOrEqual(2);
  });

  it('does not count responses that share one buffer', async () => {
    expect(await connectionsKept(Buffer.alloc(SIZE))).toBe(CLIENTS);
  });
});

describe('pipelined requests', () => {
  it('handles them one after another and responds in order', async () => {
    const handled: string[] = [];
    const { port } = await open((request, response) => {
      handled.push(`${request.url} begins`);
      setTimeout(() => {
        handled.push(`${request.url} ends`);
        response.end(request.url);
      }, 20);
    });
    const socket = await connectAndSend(
      port,
      ['/1', '/2', '/3'].map((path) => GET.replace('/', path)).join('') +
        GET.replace('host', 'connection: close\r\nhost'),
    );
    const responses = await text(socket);
    expect(responses.match(/^\/\d?(?=HTTP|$)/gm)).toEqual(['/1', '/2', '/3', '/']);
    expect(handled).toEqual(['/1', '/2', '/3', '/'].flatMap((url) => [`${url} begins`, `${url} ends`]));
  });

  it('handles the next one only once the previous response has been read', async () => {
    let handled = 0;
    const { port } = await open((_request, response) => {
      handled++;
      response.end(Buffer.alloc(LARGE / 4));
    });
    const socket = await connectAndSend(port, GET.repeat(5));
    await sleep(300);
    expect(handled).toBe(1);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThan((5 * LARGE) / 4);
    expect(handled).toBe(5);
    socket.destroy();
  });

  it('keeps their bodies intact', async () => {
    const { port } = await open(echo);
    const post = (body: string) =>
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const bodies = ['a'.repeat(100_000), 'b', 'c'.repeat(200_000), 'd'];
    const socket = await connectAndSend(port, bodies.map(post).join(''));
    let responses = '';
    socket.on('data', (chunk) => {
      responses += chunk;
    });
    const received = () =>
      responses.split('HTTP/1.1 200 OK').map((response) => response.slice(response.indexOf('\r\n\r\n') + 4));
    await expect.poll(() => responses.at(-1), { timeout: 10_000 }).toBe('d');
    expect(
      received()
        .slice(1)
        .every((body, i) => body === bodies[i]),
    ).toBe(true);
    socket.destroy();
  });

  it('limits their number over all connections by disconnecting clients', async () => {
    const held: ServerResponse[] = [];
    const { server, port } = await open((_request, response) => void held.push(response));
    const short = 'GET / HTTP/1.1\r\nhost:x\r\n\r\n';
    let parsed = 0;
    server.on('request', () => parsed++);
    let closed = 0;
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await connectAndSend(port, short.repeat(2_000));
        socket.on('error', () => {});
        socket.on('close', () => closed++);
        return socket.resume();
      }),
    );
    await expect.poll(() => closed, { timeout: 40_000 }).toBeGreaterThanOrEqual(17);
    expect(await connectionsTo(server)).toBeGreaterThanOrEqual(2);
    // What follows in the same segment was not even parsed.
    expect(parsed).toBeLessThan(30_000);
    // A client with only 10 requests is still served.
    const modest = await connectAndSend(port, short.repeat(10));
    let responses = 0;
    modest.on('data', (chunk) => {
      responses += String(chunk).split('HTTP/1.1 200').length - 1;
    });
    const responding = setInterval(() => held.splice(0).forEach((response) => void response.end()), 5);
    await expect.poll(() => responses).toBe(10);
    clearInterval(responding);
    for (const socket of [...sockets, modest]) socket.destroy();
  });
});

describe('malformed requests', () => {
  const POST = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab';
  const delayed: RequestHandler = (request, response) => {
    text(request).then(
      (body) => setTimeout(() => response.end(`done ${body}`), 50),
      () => response.destroy(),
    );
  };
  const BAD_REQUEST = 'HTTP/1.1 400 Bad Request';

  it.each([
    ['together with them', 0],
    ['later', 20],
  ])('responds 400 to garbage after the responses to valid requests, if sent %s', async (_when, delay) => {
    const { port } = await open(delayed);
    const socket = await connectAndSend(port, POST + POST + (delay ? '' : 'GARBAGE\r\n\r\n'));
    if (delay) setTimeout(() => socket.write('GARBAGE\r\n\r\n'), delay);
    const responses = await text(socket);
    expect(responses.match(/^(HTTP\/1\.1 .*|done ab)/gm)).toHaveLength(3);
    expect(responses).toMatch(
      /200 OK[\s\S]*done abHTTP\/1\.1 200 OK[\s\S]*done abHTTP\/1\.1 400 Bad Request/,
    );
  });

  it('responds 400 to an invalid chunk after the responses to earlier requests', async () => {
    const { port } = await open(delayed);
    const chunked = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n';
    const responses = await text(await connectAndSend(port, POST + chunked));
    expect(responses).toMatch(/200 OK[\s\S]*done abHTTP\/1\.1 400 Bad Request/);
    expect((await text(await connectAndSend(port, chunked))).startsWith(BAD_REQUEST)).toBe(true);
  });

  it('responds 400 to CONNECT after the responses to earlier requests', async () => {
    const { port } = await open(delayed);
    const TUNNEL = 'CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n';
    expect((await text(await connectAndSend(port, TUNNEL))).startsWith(BAD_REQUEST)).toBe(true);
    const responses = await text(await connectAndSend(port, POST + TUNNEL));
    expect(responses).toMatch(/200 OK[\s\S]*done abHTTP\/1\.1 400 Bad Request[\s\S]*CONNECT/);
    // Node leaves the socket of a CONNECT to us: a reset must not end the process.
    const reset = await connectAndSend(port, POST + TUNNEL);
    setTimeout(() => reset.resetAndDestroy(), 20);
    await new Promise((resolve) => reset.once('close', resolve));
    expect(await text(await connectAndSend(port, POST + TUNNEL))).toContain(
      'done abHTTP/1.1 400 Bad Request',
    );
  });

  it('responds 400 to a request with more than 500 header fields', async () => {
    const { port } = await open(echo);
    const fields = (count: number) =>
      `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${'a:\r\n'.repeat(count)}\r\n`;
    expect(await text(await connectAndSend(port, fields(498)))).toContain('200 OK');
    const rejection = await text(await connectAndSend(port, fields(499)));
    expect(rejection.startsWith(BAD_REQUEST)).toBe(true);
    expect(rejection).toContain('The request has more than 500 header fields.');
  });
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

  it('sends Connection: close with the response to a further request', async () => {
    const { server, port } = await open(echo);
    const socket = await connectAndSend(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const first = await new Promise<Buffer>((resolve) => socket.once('data', resolve));
    expect(first.toString()).toContain('Connection: keep-alive');
    const drained = drain(server);
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(await text(socket)).toContain('Connection: close');
    await drained;
  });

  it('finishes in time although a request is incomplete', async () => {
    const { server, port } = await open(echo);
    const socket = await connectAndSend(port, 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{');
    await new Promise((resolve) => server.once('request', resolve));
    const began = performance.now();
    await drain(server, 700);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(await text(socket).catch(() => '')).toBe('');
  });
});
