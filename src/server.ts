import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from './foundation/errors.ts';
import type { RequestHandler } from './gateway.ts';

/** How long requests in progress may take after a stop signal, in milliseconds. */
const DRAIN_TIMEOUT = 10_000;
/** How long connected clients may still send requests then. Each response tells them that it is the last. */
const GRACE_PERIOD = 500;

/** Limits for slow clients, in milliseconds. */
export interface Timeouts {
  /** To send the headers of a request. */
  headers: number;
  /** To send a whole request. */
  request: number;
  /** Without reading anything of a response. */
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
/** How often timeouts are checked, at most. */
const CHECK_INTERVAL = 1_000;
const MAX_HEADER_BYTES = 16_384;

/** What connection errors mean for the client. Any other is malformed HTTP. */
const MESSAGES: Partial<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The request headers exceed ${MAX_HEADER_BYTES} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** The open connections of a server, each with its responses that have not been sent. */
class Connections extends Map<Socket, Set<ServerResponse>> {
  /** Whether responses tell clients to close their connections. */
  isDraining = false;
}

const connectionsOf = new WeakMap<Server, Connections>();

/** Creates the gateway's HTTP server, with limits on time for slow clients. */
export function createHttpServer(handler: RequestHandler, limits: Timeouts = TIMEOUTS): Server {
  const checkInterval = Math.min(CHECK_INTERVAL, limits.headers, limits.unread);
  const server: Server = createServer({
    headersTimeout: limits.headers,
    requestTimeout: limits.request,
    connectionsCheckingInterval: checkInterval,
    keepAliveTimeout: limits.keepAlive,
    maxHeaderSize: MAX_HEADER_BYTES,
    noDelay: true,
    // Node's own response would not be in our error format.
    requireHostHeader: false,
  });
  // Node would silently drop headers beyond its limit; maxHeaderSize bounds them.
  server.maxHeadersCount = 0;
  server.setTimeout(limits.idle);

  const connections = new Connections();
  connectionsOf.set(server, connections);
  server.on('connection', (socket) => {
    connections.set(socket, new Set());
    socket.once('close', () => connections.delete(socket));
  });
  server.on('request', (request, response) => {
    const responses = connections.get(request.socket);
    responses?.add(response);
    response.once('close', () => responses?.delete(response));
    if (connections.isDraining) response.shouldKeepAlive = false;
    handler(request, response);
  });
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
    const hasBegun = [...(connections.get(socket) ?? [])].some(({ headersSent }) => headersSent);
    // Nothing can be said within a response.
    if (!socket.writable || hasBegun) socket.destroy();
    else refuse(socket, handler, MESSAGES[code]);
  });
  const stop = disconnectStalledReaders(connections, limits.unread, checkInterval);
  server.on('close', stop);
  return server;
}

/** Malformed HTTP gets the common error format too, and ends the connection. */
function refuse(
  socket: Socket,
  { headersForMalformed }: RequestHandler,
  message = 'The request is not valid HTTP/1.1.',
): void {
  const body = JSON.stringify(new AppError('BAD_REQUEST', message).toPublic());
  const headers = ['Content-Type', 'application/json', 'Content-Length', body.length, 'Connection', 'close'];
  headers.push(...(headersForMalformed?.(socket.remoteAddress ?? '') ?? []));
  let head = 'HTTP/1.1 400 Bad Request\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

/**
 * Disconnects clients that have read nothing of what was sent to them for `limit` milliseconds. Node's own
 * timeout restarts with every byte in either direction, even with the client's next request.
 *
 * @returns a function that stops the checks
 */
function disconnectStalledReaders(connections: Connections, limit: number, interval: number): () => void {
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
  EADDRINUSE: 'another program is using it. Stop that program or set PORT to another port (EADDRINUSE).',
  EACCES: 'permission denied. Set PORT to 1024 or more (EACCES).',
  EADDRNOTAVAIL: 'this machine does not have that address. Set HOST to one of its addresses (EADDRNOTAVAIL).',
};

/**
 * Starts listening.
 *
 * @returns the port, which is assigned if 0 was given
 * @throws Error with the reason it cannot listen
 */
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

/**
 * Ends a server: waits for requests in progress, at most DRAIN_TIMEOUT. Connections that are idle may still send a
 * request for GRACE_PERIOD, which may be on its way; those that never sent anything end at once.
 */
export async function drain(server: Server, milliseconds = DRAIN_TIMEOUT): Promise<void> {
  const connections = connectionsOf.get(server)!;
  const began = performance.now();
  connections.isDraining = true;
  // Node's `close` calls it, also where it would cut off a response that is written but not yet sent.
  server.closeIdleConnections = () => {};
  const closed = new Promise((resolve) => server.close(resolve));
  for (let waited = 0; connections.size > 0 && waited < milliseconds; waited = performance.now() - began) {
    for (const [socket, responses] of connections) {
      const isIdle = responses.size === 0 && socket.writableLength === 0;
      if (isIdle && (waited >= GRACE_PERIOD || socket.bytesRead === 0)) socket.destroy();
    }
    await sleep(20);
  }
  server.closeAllConnections();
  await closed;
}
