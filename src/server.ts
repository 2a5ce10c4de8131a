import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type Socket, Server as SocketServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from './errors.ts';
import type { RequestHandler } from './gateway.ts';
import { Connection, type Queue } from './http/connection.ts';
import { hasValidHost } from './http/host.ts';
import { responseClass, UnreadResponses } from './http/unread-responses.ts';

/** How long requests under way may take after the order to stop. */
const DRAIN_TIMEOUT = 10_000;
/** How long clients that are connected may still send requests then: each answer tells them that it is the last. */
const GRACE_PERIOD = 500;

/** What slow clients may take, in milliseconds. */
export interface Timeouts {
  /** For the header of a request. */
  headers: number;
  /** For a whole request. */
  request: number;
  /** To read any of the answers that are sent to them. */
  unread: number;
  /** Without a byte in either direction. */
  idle: number;
  /** Between requests. */
  keepAlive: number;
}

const TIMEOUTS: Timeouts = {
  headers: 10_000,
  request: 30_000,
  unread: 30_000,
  idle: 60_000,
  keepAlive: 65_000,
};
/** How often the limits of headers, requests and unread answers are looked at, at most. */
const CHECK_INTERVAL = 1_000;
const MAX_HEADER_BYTES = 16_384;
const MAX_HEADERS = 2_000;

/** What an error of the connection means for the client; anything else is no valid HTTP. */
const MESSAGES: Partial<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The header of the request is over ${MAX_HEADER_BYTES} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** The open connections of each server, for `drain`. */
const connectionsOf = new WeakMap<Server, ReadonlyMap<Socket, Connection>>();

/** The gateway's HTTP server, with limits in time and memory against slow clients. */
export function createHttpServer(
  handler: RequestHandler,
  limits: Timeouts = TIMEOUTS,
  unread: UnreadResponses = new UnreadResponses(),
): Server {
  const connections = new Map<Socket, Connection>();
  const queue: Queue = { length: 0 };
  const checkInterval = Math.min(CHECK_INTERVAL, limits.headers, limits.unread);
  const server: Server = createServer({
    headersTimeout: limits.headers,
    requestTimeout: limits.request,
    connectionsCheckingInterval: checkInterval,
    keepAliveTimeout: limits.keepAlive,
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
    // Node would refuse these in a form of its own.
    requireHostHeader: false,
    ServerResponse: responseClass(unread),
  });
  // Node would leave those beyond out; they are refused here, and their bytes are limited.
  server.maxHeadersCount = 0;
  // A client that has sent all it wants to may close its half of the connection, and still reads (RFC 9293 section 3.6).
  Object.assign(server, { httpAllowHalfOpen: true });
  connectionsOf.set(server, connections);

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const connection = connections.get(request.socket);
    if (!server.listening && !connection?.hasPending) response.shouldKeepAlive = false;
    const error = errorOf(request);
    if (error === undefined) handler(request, response);
    else refuse(request.socket, handler, error);
  };
  const take = (request: IncomingMessage, response: ServerResponse) =>
    connections.get(request.socket)?.enqueue(request, response);
  server.on('request', take);
  // An expectation that can't be met may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', take);
  // Whoever reads the body says that it may come; whoever refuses the request doesn't.
  server.on('checkContinue', take);
  server.on('connection', (socket: Socket) => {
    connections.set(socket, new Connection(socket, handle, queue));
    socket.once('close', () => connections.delete(socket));
  });
  const refuseAfterPending = (socket: Socket, message?: string) => {
    const send = () => refuse(socket, handler, message);
    const connection = connections.get(socket);
    if (connection) connection.refuse(send);
    else send();
  };
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) =>
    refuseAfterPending(socket, MESSAGES[code]),
  );
  // Node would close the connection without an answer. It hands the socket over instead, and looks after it no more.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    refuseAfterPending(socket, 'CONNECT asks for a tunnel: this is no proxy.');
  });
  server.setTimeout(limits.idle);
  const stop = disconnectStalledReaders(connections, limits.unread, checkInterval);
  server.on('close', stop);
  return server;
}

/** Why a request that node has read is refused before anybody looks at it. */
function errorOf(request: IncomingMessage): string | undefined {
  if (request.rawHeaders.length > 2 * MAX_HEADERS)
    return `The request has more than ${MAX_HEADERS} header fields.`;
  return hasValidHost(request) ? undefined : INVALID_HTTP;
}

const INVALID_HTTP = 'The request is no valid HTTP/1.1.';

/** What is no HTTP gets the one error format too, and is the last of its connection. */
function refuse(socket: Socket, { limitHeaders }: RequestHandler, message = INVALID_HTTP): void {
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

/**
 * Ends connections whose client has taken none of what is sent to it for `limit` milliseconds. Node's own time limit begins
 * anew with every byte that is sent or received, be it the client's next request.
 *
 * @returns what ends the watch
 */
function disconnectStalledReaders(
  connections: ReadonlyMap<Socket, Connection>,
  limit: number,
  interval: number,
): () => void {
  const seen = new WeakMap<Socket, { taken: number; at: number }>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const socket of connections.keys()) {
      if (socket.writableLength === 0) {
        seen.delete(socket);
        continue;
      }
      const taken = socket.bytesWritten - socket.writableLength;
      const last = seen.get(socket);
      if (last?.taken !== taken) seen.set(socket, { taken, at: now });
      else if (now - last.at >= limit) socket.destroy();
    }
  }, interval);
  timer.unref();
  return () => clearInterval(timer);
}

const LISTEN_ERRORS: Partial<Record<string, string>> = {
  EADDRINUSE: 'another program has it. Stop that one, or set PORT to another (EADDRINUSE).',
  EACCES: 'this user may not. Set PORT to 1024 or more (EACCES).',
  EADDRNOTAVAIL: 'this machine has no such address. Set HOST to one that it has (EADDRNOTAVAIL).',
};

/** Starts listening. @throws Error that says why it can't. @returns the port, which differs from the one asked for if that was 0 */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = LISTEN_ERRORS[error.code ?? ''] ?? error.message;
      reject(new Error(`The server cannot listen on port ${port} of ${host}: ${why}`, { cause: error }));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      const address = server.address();
      resolve(typeof address === 'object' && address ? address.port : port);
    });
  });
}

/** Takes no more connections and waits until what is under way is done, DRAIN_TIME at most. */
export async function drain(server: Server, milliseconds = DRAIN_TIMEOUT): Promise<void> {
  const deadline = performance.now() + milliseconds;
  // Not http's own `close`, which ends idle connections at once: a request that is just arriving would be cut.
  const closed = new Promise<true>((resolve) =>
    SocketServer.prototype.close.call(server, () => resolve(true)),
  );
  await Promise.race([closed, sleep(Math.min(GRACE_PERIOD, milliseconds))]);
  // Connections become idle one by one; node closes only those that are idle when asked, and would cut off what is
  // answered but not yet sent.
  const sweep = setInterval(() => {
    const connections = [...(connectionsOf.get(server)?.values() ?? [])];
    if (connections.every(({ isIdle }) => isIdle)) server.closeIdleConnections();
  }, 50);
  const inTime = await Promise.race([closed, sleep(Math.max(0, deadline - performance.now()), false)]);
  clearInterval(sweep);
  if (!inTime) server.closeAllConnections();
}
