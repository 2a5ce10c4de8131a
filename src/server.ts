import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type Socket, Server as SocketServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from './foundation/errors.ts';
import { onArrival } from './foundation/turns.ts';
import type { RequestHandler } from './gateway.ts';
import { BoundedRequest, releaseParser } from './http/bounded-request.ts';
import { Pipelines } from './http/pipeline.ts';
import { responseClass, UnreadResponses } from './http/unread-responses.ts';

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
/** V8 takes as long for the names of 2,000, if they are new, as for a page of a list. */
const MAX_HEADERS = 500;

/** What connection errors mean for the client. Any other is malformed HTTP. */
const MESSAGES: Partial<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The request headers exceed ${MAX_HEADER_BYTES} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

/** The open connections of each server, for `drain`. */
const connectionsOf = new WeakMap<Server, Pipelines>();

/** Creates the gateway's HTTP server, with limits on time and memory for slow clients. */
export function createHttpServer(
  handler: RequestHandler,
  limits: Timeouts = TIMEOUTS,
  unread: UnreadResponses = new UnreadResponses(),
): Server {
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
    IncomingMessage: BoundedRequest,
    ServerResponse: responseClass(unread),
  });
  // Node would silently drop headers beyond its limit. We refuse such requests instead; maxHeaderSize bounds
  // the bytes.
  server.maxHeadersCount = 0;

  const connections = new Pipelines((request, response) =>
    onArrival(() => {
      if (request.socket.destroyed) return;
      const connection = connections.get(request.socket);
      if (!server.listening && !connection?.hasPending) response.shouldKeepAlive = false;
      const error = errorOf(request);
      if (error === undefined) handler(request, response);
      else refuse(request.socket, handler, error, request);
    }),
  );
  connectionsOf.set(server, connections);
  const { open, take } = connections;
  server.on('connection', open);
  server.on('request', take);
  // An expectation that can't be met may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', take);
  // Whoever reads the body sends 100 Continue; a refusal does not.
  server.on('checkContinue', take);
  const refuseAfterPending = (socket: Socket, message?: string, isHead = false) => {
    const send = () => refuse(socket, handler, message, undefined, isHead);
    const connection = connections.get(socket);
    if (connection) connection.refuse(send);
    else send();
  };
  server.on(
    'clientError',
    ({ code = '', rawPacket }: NodeJS.ErrnoException & { rawPacket?: Buffer }, socket: Socket) =>
      refuseAfterPending(socket, MESSAGES[code], rawPacket?.toString('latin1', 0, 5) === 'HEAD '),
  );
  // By default Node closes the connection without a response. With a listener it hands over the socket and no
  // longer manages it.
  server.on('connect', (_request, socket: Socket) => {
    releaseParser(socket);
    socket.on('error', () => socket.destroy());
    socket.once('finish', () => socket.destroy());
    refuseAfterPending(socket, 'CONNECT is not supported: this server is not a proxy.');
  });
  server.setTimeout(limits.idle);
  const stop = disconnectStalledReaders(connections, limits.unread, checkInterval);
  server.on('close', stop);
  return server;
}

const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage): boolean => rawHeaders.length > 2 * MAX_HEADERS;

/** Why a parsed request is rejected before it is handled. */
function errorOf(request: IncomingMessage): string | undefined {
  // A target has no fragment (RFC 9112 section 3.2).
  if (request.url?.includes('#')) return 'The target must not have a fragment.';
  if (hasTooManyHeaders(request)) return `The request has more than ${MAX_HEADERS} header fields.`;
  return hasValidHost(request) ? undefined : INVALID_HTTP;
}

/** `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2). */
const HOST =
  /^(?:\[(?:[\da-f:.]+|v[\da-f]+\.[\w.~!$&'()*+,;=:-]+)\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/** Whether a request has exactly one well-formed Host header (RFC 9112 section 3.2). */
function hasValidHost({ headers: { host }, httpVersion, rawHeaders }: IncomingMessage): boolean {
  if (host === undefined) return httpVersion !== '1.1';
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count === 1 && HOST.test(host);
}

const INVALID_HTTP = 'The request is not valid HTTP/1.1.';

/**
 * Malformed HTTP gets the common error format too, and ends the connection.
 *
 * @param request if it could be parsed
 */
function refuse(
  socket: Socket,
  { headersForMalformed }: RequestHandler,
  message = INVALID_HTTP,
  request?: IncomingMessage,
  isHead = request?.method === 'HEAD',
): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(new AppError('BAD_REQUEST', message).toPublic());
  // The names of too many headers are not even looked at.
  const readable = request && !hasTooManyHeaders(request) ? request : undefined;
  const headers = [
    ...['Content-Type', 'application/json', 'Content-Length', body.length, 'Connection', 'close'],
    ...(headersForMalformed?.(socket.remoteAddress ?? '', readable) ?? []),
  ];
  let head = 'HTTP/1.1 400 Bad Request\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${isHead ? '' : body}`);
}

/**
 * Disconnects clients that have read nothing of what was sent to them for `limit` milliseconds. Node's own
 * timeout restarts with every byte in either direction, even with the client's next request.
 *
 * @returns a function that stops the checks
 */
function disconnectStalledReaders(connections: Pipelines, limit: number, interval: number): () => void {
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

/** Stops accepting connections and waits for requests in progress, at most DRAIN_TIMEOUT. */
export async function drain(server: Server, milliseconds = DRAIN_TIMEOUT): Promise<void> {
  const deadline = performance.now() + milliseconds;
  // Not http's own `close`: it ends idle connections at once and would cut off a request that is just
  // arriving.
  const closed = new Promise<true>((resolve) =>
    SocketServer.prototype.close.call(server, () => resolve(true)),
  );
  await Promise.race([closed, sleep(Math.min(GRACE_PERIOD, milliseconds))]);
  // Connections become idle one by one, and Node closes only those idle at the moment. It would also cut off
  // responses that are written but not yet sent.
  const sweep = setInterval(() => {
    const connections = [...(connectionsOf.get(server)?.values() ?? [])];
    if (connections.every(({ isIdle }) => isIdle)) server.closeIdleConnections();
  }, 50);
  const inTime = await Promise.race([closed, sleep(Math.max(0, deadline - performance.now()), false)]);
  clearInterval(sweep);
  if (!inTime) server.closeAllConnections();
}
