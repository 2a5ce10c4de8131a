import { createServer, type Server, type ServerResponse } from 'node:http';
import { type Socket, Server as SocketServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from './errors.ts';
import type { RequestHandler } from './gateway.ts';

/** How long requests under way may take after the order to stop (contract section 8). */
const DRAIN_TIME = 10_000;
/** How long clients that are connected may still send requests then: each answer tells them that it is the last. */
const FAREWELL_TIME = 500;

/** What slow clients may take, in milliseconds. */
export interface TimeLimits {
  /** For the header of a request. */
  headers: number;
  /** For a whole request. */
  request: number;
  /** Without a byte in either direction, be it that a client doesn't read its answer. */
  silence: number;
  /** Between requests. */
  keepAlive: number;
}

const TIME_LIMITS: TimeLimits = { headers: 10_000, request: 30_000, silence: 60_000, keepAlive: 65_000 };
/** How often the limits of headers and requests are looked at, at most. */
const CHECK_INTERVAL = 1_000;
const MOST_HEADER_BYTES = 16_384;

/** What a fault of the connection means for the client; anything else is no valid HTTP. */
const MESSAGES: Partial<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The header of the request is over ${MOST_HEADER_BYTES} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** The last answer of each open connection, for `drain`. */
const answers = new WeakMap<Server, Map<Socket, ServerResponse>>();

/** The gateway's HTTP server, with time limits against slow clients. */
export function createHttpServer(handler: RequestHandler, limits: TimeLimits = TIME_LIMITS): Server {
  const last = new Map<Socket, ServerResponse>();
  const server = createServer(
    {
      headersTimeout: limits.headers,
      requestTimeout: limits.request,
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL, limits.headers),
      keepAliveTimeout: limits.keepAlive,
      maxHeaderSize: MOST_HEADER_BYTES,
      noDelay: true,
      // Node would refuse these in a form of its own.
      requireHostHeader: false,
    },
    (request, response) => {
      last.set(request.socket, response);
      if (!server.listening) response.shouldKeepAlive = false;
      if (request.headers.host === undefined && request.httpVersion === '1.1')
        refuseMalformed(request.socket, handler);
      else handler(request, response);
    },
  );
  answers.set(server, last);
  server.on('connection', (socket: Socket) => socket.once('close', () => last.delete(socket)));
  server.setTimeout(limits.silence);
  // An expectation that can't be met may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', handler);
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) =>
    refuseMalformed(socket, handler, MESSAGES[code]),
  );
  return server;
}

/** What is no HTTP gets the one error format too. */
function refuseMalformed(
  socket: Socket,
  { limitHeaders }: RequestHandler,
  message = 'The request is no valid HTTP/1.1.',
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(new AppError('BAD_REQUEST', message).toPublic());
  const headers = [
    ...['Content-Type', 'application/json', 'Content-Length', body.length, 'Connection', 'close'],
    ...(limitHeaders?.(socket.remoteAddress ?? '') ?? []),
  ];
  let head = 'HTTP/1.1 400 Bad Request\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

/** Starts listening. @returns the port, which differs from the one asked for if that was 0 */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** Takes no more connections and waits until what is under way is done, DRAIN_TIME at most. */
export async function drain(server: Server, milliseconds = DRAIN_TIME): Promise<void> {
  const deadline = performance.now() + milliseconds;
  // Not http's own `close`, which ends idle connections at once: a request that is just arriving would be cut.
  const closed = new Promise<true>((resolve) =>
    SocketServer.prototype.close.call(server, () => resolve(true)),
  );
  await Promise.race([closed, sleep(Math.min(FAREWELL_TIME, milliseconds))]);
  // Connections become idle one by one; node closes only those that are idle when asked, and would cut off what is
  // answered but not yet sent.
  const sweep = setInterval(() => {
    const last = [...(answers.get(server)?.values() ?? [])];
    if (last.every((response) => response.writableFinished || response.destroyed))
      server.closeIdleConnections();
  }, 50);
  const inTime = await Promise.race([closed, sleep(Math.max(0, deadline - performance.now()), false)]);
  clearInterval(sweep);
  if (!inTime) server.closeAllConnections();
}
