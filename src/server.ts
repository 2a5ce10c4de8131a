import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { AppError } from './foundation/errors.ts';
import type { Headers } from './http/response.ts';

/** An import would also load what its getters for browsers' globals need: in Node.js 24, an eighth of the time of a start. */
const http = process.getBuiltinModule('node:http');

/** The time limit for requests in progress after a stop signal, in milliseconds. Their usage is stored afterwards. */
const DRAIN_TIMEOUT = 9_000;
/** How long connected clients may still send requests then, in milliseconds. Each response says that it is the last. */
const GRACE_PERIOD = 500;

export interface RequestHandler {
  serve(request: IncomingMessage, response: ServerResponse): unknown;
  /** The headers of the response to malformed HTTP from an address. */
  headersForMalformed?(address: string): Headers;
}

/** Limits for slow clients, in milliseconds. */
const TIMEOUTS = {
  /** For the headers of a request. */
  headers: 10_000,
  /** For a whole request. */
  request: 30_000,
  /** Without reading anything of a response. */
  unread: 30_000,
  /** Between requests. */
  keepAlive: 65_000,
};
export type Timeouts = typeof TIMEOUTS;
/** The longest interval between checks of timeouts, in milliseconds. */
const CHECK_INTERVAL = 1_000;
const MAX_HEADER_BYTES = 16_384;
/** The maximum number of unanswered requests per connection. */
const MAX_WAITING = 16;

/** Messages for connection errors; any other is malformed HTTP. */
const MESSAGES: Partial<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: `The request headers exceed ${MAX_HEADER_BYTES} bytes.`,
  ERR_HTTP_REQUEST_TIMEOUT: 'The request did not arrive in time.',
};

interface Connection {
  /** The responses to the request in progress, if any, and to those behind it. */
  waiting: ServerResponse[];
  /** The number of bytes that the client has taken, and the time when it last took any. */
  taken: number;
  since: number;
}

/** The gateway's HTTP server, with limits on time for slow clients. */
export class HttpServer extends http.Server {
  readonly #connections = new Map<Socket, Connection>();
  readonly #handler: RequestHandler;
  /** The requests to begin at the end of this turn of the event loop. */
  #arrived: ServerResponse[] = [];
  #isDraining = false;

  constructor(handler: RequestHandler, limits: Timeouts = TIMEOUTS) {
    const checkInterval = Math.min(CHECK_INTERVAL, limits.headers, limits.unread);
    super({
      headersTimeout: limits.headers,
      requestTimeout: limits.request,
      connectionsCheckingInterval: checkInterval,
      keepAliveTimeout: limits.keepAlive,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Node's own response would have another format.
      requireHostHeader: false,
      // Node would silently drop a second Host, Authorization or Content-Type: which one counts would be up to proxies.
      joinDuplicateHeaders: true,
    });
    this.#handler = handler;
    // Node would silently drop headers beyond its default; maxHeaderSize limits them.
    this.maxHeadersCount = 0;
    this.on('connection', (socket) => {
      this.#connections.set(socket, { waiting: [], taken: 0, since: performance.now() });
      socket.once('close', () => this.#connections.delete(socket));
    });
    this.on('request', (request, response) => {
      const connection = this.#connections.get(request.socket);
      if (!connection || request.socket.destroyed) return;
      if (connection.waiting.length === MAX_WAITING) request.socket.destroy();
      else if (connection.waiting.push(response) === 1) this.#begin(connection);
    });
    // Node would answer 417 without a body. Servers may ignore what they are expected to do (RFC 9110 section 10.1.1).
    this.on('checkExpectation', (request, response) => this.emit('request', request, response));
    this.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
      // An error can't be sent within a response, or before that to an earlier request.
      if (!socket.writable || isWithin(this.#connections.get(socket)?.waiting[0])) socket.destroy();
      else refuse(socket, handler, MESSAGES[code]);
    });
    const timer = setInterval(() => this.#disconnectStalledReaders(limits.unread), checkInterval).unref();
    this.on('close', () => clearInterval(timer));
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /**
   * Begins the first waiting request. Node emits all pipelined requests at once, and would buffer the responses for a
   * client that reads none. So each begins when the client has taken the response before it.
   */
  #begin(connection: Connection): void {
    const response = connection.waiting[0]!;
    response.on('close', () => {
      connection.waiting.shift();
      if (connection.waiting.length > 0 && !response.req.socket.destroyed) this.#begin(connection);
    });
    if (this.#isDraining) response.shouldKeepAlive = false;
    if (this.#arrived.push(response) === 1) setImmediate(this.#serve);
  }

  /**
   * Serves all requests that arrived in a turn of the event loop one after another, which takes each half as long: its
   * code and data are still in the processor's caches.
   */
  readonly #serve = (): void => {
    const arrived = this.#arrived;
    this.#arrived = [];
    for (const response of arrived) this.#handler.serve(response.req, response);
  };

  /**
   * Disconnects clients that have taken no data for `limit` milliseconds. Node's own timeout restarts with every byte
   * in either direction, even of the client's next request.
   */
  #disconnectStalledReaders(limit: number): void {
    const now = performance.now();
    for (const [socket, connection] of this.#connections) {
      const taken = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || connection.taken !== taken)
        Object.assign(connection, { taken, since: now });
      else if (now - connection.since >= limit) socket.destroy();
    }
  }

  /** Keeps serving, but makes each response the last of its connection. */
  retire(): void {
    this.#isDraining = true;
    for (const { waiting } of this.#connections.values())
      // Has no effect once the head of the response is sent.
      if (waiting[0]) waiting[0].shouldKeepAlive = false;
  }

  /**
   * Ends the server when the requests in progress have their responses, or after this time. During GRACE_PERIOD,
   * clients may still send requests, which may be on their way.
   */
  async drain(milliseconds = DRAIN_TIMEOUT): Promise<void> {
    this.retire();
    // Node's `close` calls this, which would cut off responses that are written but not sent.
    this.closeIdleConnections = () => {};
    const closed = new Promise((resolve) => this.close(resolve));
    const disconnect = () => {
      for (const [socket, { waiting }] of this.#connections) {
        const response = waiting[0];
        if (!response || response.writableFinished) socket.destroy();
        // The head of the response may have said that the connection stays open.
        else response.once('close', () => socket.destroy());
      }
    };
    // Timers run before input: requests that arrived while the process was busy must be read first.
    setTimeout(() => setImmediate(disconnect), GRACE_PERIOD).unref();
    setTimeout(() => this.closeAllConnections(), milliseconds).unref();
    await closed;
  }
}

/** True if a response is due or has begun, but isn't sent yet. */
const isWithin = (response: ServerResponse | undefined): boolean =>
  response !== undefined && !response.writableFinished && (response.headersSent || response.req.complete);

/** Responds to malformed HTTP in the common error format, and ends the connection. */
function refuse(
  socket: Socket,
  handler: RequestHandler,
  message = 'The request is not valid HTTP/1.1.',
): void {
  const body = JSON.stringify(new AppError('BAD_REQUEST', message).toPublic());
  const headers = ['Content-Type', 'application/json', 'Content-Length', body.length, 'Connection', 'close'];
  headers.push(...(handler.headersForMalformed?.(socket.remoteAddress ?? '') ?? []));
  let head = 'HTTP/1.1 400 Bad Request\r\n';
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.end(`${head}\r\n${body}`);
}

const LISTEN_ERRORS: Partial<Record<string, string>> = {
  EADDRINUSE: 'another program is using it. Stop that program or set PORT to another port (EADDRINUSE).',
  EACCES: 'permission denied. Set PORT to 1024 or more (EACCES).',
  EADDRNOTAVAIL: 'this machine does not have that address. Set HOST to one of its addresses (EADDRNOTAVAIL).',
};

/**
 * Starts listening.
 *
 * @returns the port, which is assigned if `port` is 0
 * @throws Error with the reason why it cannot listen
 */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  try {
    await once(server.listen(port, host), 'listening');
    return (server.address() as AddressInfo).port;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const why = LISTEN_ERRORS[code] ?? message;
    throw new Error(`The server cannot listen on port ${port} of ${host}: ${why}`, { cause: error });
  }
}
