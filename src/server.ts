import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from './errors.ts';
import type { RequestHandler } from './gateway.ts';

/** How long requests under way may take after the order to stop (contract section 8). */
const DRAIN_TIME = 10_000;

/** The gateway's HTTP server, with time limits against slow clients. */
export function createHttpServer(handler: RequestHandler): Server {
  const server = createServer(
    {
      headersTimeout: 10_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 65_000,
      maxHeaderSize: 16_384,
      noDelay: true,
      // Node would refuse these in a form of its own.
      requireHostHeader: false,
    },
    (request, response) => {
      if (request.headers.host === undefined && request.httpVersion === '1.1')
        refuseMalformed(request.socket, handler);
      else handler(request, response);
    },
  );
  // An expectation that can't be met may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', handler);
  server.on('clientError', (_error, socket: Socket) => refuseMalformed(socket, handler));
  return server;
}

/** What is no HTTP gets the one error format too. */
function refuseMalformed(socket: Socket, { limitHeaders }: RequestHandler): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const body = JSON.stringify(new AppError('BAD_REQUEST', 'The request is no valid HTTP/1.1.').toPublic());
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
  const closed = new Promise<true>((resolve) => server.close(() => resolve(true)));
  // Connections become idle one by one; node closes only those that are idle when asked.
  const sweep = setInterval(() => server.closeIdleConnections(), 50);
  const inTime = await Promise.race([closed, sleep(milliseconds, false)]);
  clearInterval(sweep);
  if (!inTime) server.closeAllConnections();
}
