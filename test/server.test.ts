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
/** More than the kernel keeps for a client that doesn't read. */
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
    const { server, port } = await open((_request, response) => response.end(Buffer.alloc(LARGE)), {
      unread: 300,
    });
    const socket = await speak(port, GET);
    socket.on('error', () => {});
    // It reads nothing until the server has given it up; nor does it help to send something now and then.
    const chatter = setInterval(() => socket.write(GET), 50);
    await expect.poll(() => connectionsTo(server), { timeout: 10_000 }).toBe(0);
    clearInterval(chatter);
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
    });
    await new Promise((resolve) => (socket.closed ? resolve(null) : socket.once('close', resolve)));
    expect(received).toBeLessThan(LARGE);
  });

  it('to read its answer may be so as long as it reads', { timeout: 30_000 }, async () => {
    const { port } = await open((_request, response) => response.end(Buffer.alloc(LARGE / 2)), {
      unread: 1_000,
    });
    const socket = await speak(port, GET);
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
  expect(answer).toContain('The request headers exceed 16384 bytes.');
});

describe('answers that nobody reads', () => {
  const SIZE = 16_000_000;
  const MOST = 50_000_000;
  const CLIENTS = 20;

  /** Clients one after another, none of which reads; how many of them the server still has. */
  const left = async (body: string | Buffer) => {
    const { server, port } = await open(
      (_request, response) => response.end(body),
      {},
      new UnreadResponses(MOST),
    );
    let answered = 0;
    server.prependListener('request', () => answered++);
    const sockets: Socket[] = [];
    for (let i = 0; i < CLIENTS; i++) {
      const socket = await speak(port, GET);
      socket.on('error', () => {});
      sockets.push(socket);
    }
    await expect.poll(() => answered).toBe(CLIENTS);
    const count = await connectionsTo(server);
    // The one that came last is still served.
    let received = 0;
    sockets.at(-1)!.on('data', (chunk) => {
      received += chunk.length;
    });
    await expect.poll(() => received, { timeout: 10_000 }).toBeGreaterThan(SIZE);
    for (const socket of sockets) socket.destroy();
    return count;
  };

  it('are bounded in total: who has been slow for longest is cut off', async () => {
    const count = await left('x'.repeat(SIZE));
    expect(count).toBeGreaterThanOrEqual(2);
    // The kernel takes some of each.
    expect(count).toBeLessThan(CLIENTS / 2);
  });

  it('count nothing where they share their bytes', async () => {
    expect(await left(Buffer.alloc(SIZE))).toBe(CLIENTS);
  });
});

describe('requests that are sent without waiting for answers', () => {
  it('are handled one after another, and answered in their order', async () => {
    const handled: string[] = [];
    const { port } = await open((request, response) => {
      handled.push(`${request.url} begins`);
      setTimeout(() => {
        handled.push(`${request.url} ends`);
        response.end(request.url);
      }, 20);
    });
    const socket = await speak(
      port,
      ['/1', '/2', '/3'].map((path) => GET.replace('/', path)).join('') +
        GET.replace('host', 'connection: close\r\nhost'),
    );
    const answers = await text(socket);
    expect(answers.match(/^\/\d?(?=HTTP|$)/gm)).toEqual(['/1', '/2', '/3', '/']);
    expect(handled).toEqual(['/1', '/2', '/3', '/'].flatMap((url) => [`${url} begins`, `${url} ends`]));
  });

  it('wait as long as the answers before them are not read', async () => {
    let handled = 0;
    const { port } = await open((_request, response) => {
      handled++;
      response.end(Buffer.alloc(LARGE / 4));
    });
    const socket = await speak(port, GET.repeat(5));
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

  it('keep their bodies', async () => {
    const { port } = await open(echo);
    const post = (body: string) =>
      `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    const bodies = ['a'.repeat(100_000), 'b', 'c'.repeat(200_000), 'd'];
    const socket = await speak(port, bodies.map(post).join(''));
    let answers = '';
    socket.on('data', (chunk) => {
      answers += chunk;
    });
    const received = () =>
      answers.split('HTTP/1.1 200 OK').map((one) => one.slice(one.indexOf('\r\n\r\n') + 4));
    await expect.poll(() => answers.at(-1), { timeout: 10_000 }).toBe('d');
    expect(
      received()
        .slice(1)
        .every((body, i) => body === bodies[i]),
    ).toBe(true);
    socket.destroy();
  });

  it('are bounded in number over all connections', async () => {
    const held: ServerResponse[] = [];
    const { server, port } = await open((_request, response) => void held.push(response));
    const short = 'GET / HTTP/1.1\r\nhost:x\r\n\r\n';
    let closed = 0;
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await speak(port, short.repeat(2_000));
        socket.on('error', () => {});
        socket.on('close', () => closed++);
        return socket.resume();
      }),
    );
    await expect.poll(() => closed, { timeout: 10_000 }).toBeGreaterThanOrEqual(9);
    expect(await connectionsTo(server)).toBeGreaterThanOrEqual(9);
    // One that asks for less is served all the same.
    const modest = await speak(port, short.repeat(10));
    let answers = 0;
    modest.on('data', (chunk) => {
      answers += String(chunk).split('HTTP/1.1 200').length - 1;
    });
    const answering = setInterval(() => held.splice(0).forEach((response) => void response.end()), 5);
    await expect.poll(() => answers).toBe(10);
    clearInterval(answering);
    for (const socket of [...sockets, modest]) socket.destroy();
  });
});

describe('what is no HTTP', () => {
  const POST = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\nab';
  const delayed: RequestHandler = (request, response) => {
    text(request).then(
      (body) => setTimeout(() => response.end(`done ${body}`), 50),
      () => response.destroy(),
    );
  };
  const REFUSED = 'HTTP/1.1 400 Bad Request';

  it.each([
    ['at once', 0],
    ['later', 20],
  ])('after a request, %s, is refused after the answer to that', async (_when, delay) => {
    const { port } = await open(delayed);
    const socket = await speak(port, POST + POST + (delay ? '' : 'GARBAGE\r\n\r\n'));
    if (delay) setTimeout(() => socket.write('GARBAGE\r\n\r\n'), delay);
    const answers = await text(socket);
    expect(answers.match(/^(HTTP\/1\.1 .*|done ab)/gm)).toHaveLength(3);
    expect(answers).toMatch(/200 OK[\s\S]*done abHTTP\/1\.1 200 OK[\s\S]*done abHTTP\/1\.1 400 Bad Request/);
  });

  it('in the middle of a body is refused after the answers before it', async () => {
    const { port } = await open(delayed);
    const chunked = 'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n';
    const answers = await text(await speak(port, POST + chunked));
    expect(answers).toMatch(/200 OK[\s\S]*done abHTTP\/1\.1 400 Bad Request/);
    expect((await text(await speak(port, chunked))).startsWith(REFUSED)).toBe(true);
  });

  it('is a tunnel: CONNECT is refused after the answers before it', async () => {
    const { port } = await open(delayed);
    const TUNNEL = 'CONNECT a:80 HTTP/1.1\r\nhost: a:80\r\n\r\n';
    expect((await text(await speak(port, TUNNEL))).startsWith(REFUSED)).toBe(true);
    const answers = await text(await speak(port, POST + TUNNEL));
    expect(answers).toMatch(/200 OK[\s\S]*done abHTTP\/1\.1 400 Bad Request[\s\S]*CONNECT/);
    // Nobody but the server looks after the socket of a CONNECT: a reset must not end the process.
    const gone = await speak(port, POST + TUNNEL);
    setTimeout(() => gone.resetAndDestroy(), 20);
    await new Promise((resolve) => gone.once('close', resolve));
    expect(await text(await speak(port, POST + TUNNEL))).toContain('done abHTTP/1.1 400 Bad Request');
  });

  it('is a header with more fields than are read', async () => {
    const { port } = await open(echo);
    const fields = (count: number) =>
      `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${'a:\r\n'.repeat(count)}\r\n`;
    expect(await text(await speak(port, fields(1_998)))).toContain('200 OK');
    const refusal = await text(await speak(port, fields(1_999)));
    expect(refusal.startsWith(REFUSED)).toBe(true);
    expect(refusal).toContain('The request has more than 2000 header fields.');
  });
});

it('a client that closes its half of the connection gets its answer', async () => {
  const { port } = await open((_request, response) => {
    setTimeout(() => response.end('here'), 50);
  });
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.end(GET);
  expect(await text(socket)).toMatch(/here$/);
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
