import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';

/** A request as a receiver got it. */
export interface Received {
  headers: Record<string, string>;
  body: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of any type
  event: any;
  /** On this process's monotonic clock. */
  at: number;
}

type Answer = (request: IncomingMessage, response: ServerResponse, received: Received) => void;

/** A real HTTP server that receives webhooks. */
export class Receiver {
  readonly received: Received[] = [];
  readonly url: string;
  /** By default, acknowledges. */
  answer: Answer = (_request, response) => response.writeHead(204).end();
  /** Connections opened so far. */
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #waiting: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
    const protocol = server instanceof HttpsServer ? 'https' : 'http';
    this.url = `${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    server.on('connection', (socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks).toString();
      const received = {
        headers: request.headers as Record<string, string>,
        body,
        event: JSON.parse(body),
        at: performance.now(),
      };
      this.received.push(received);
      this.answer(request, response, received);
      for (const look of this.#waiting.splice(0)) look();
    });
  }

  static async start(server: Server = createServer(), port = 0): Promise<Receiver> {
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return new Receiver(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Waits until this many requests have come. */
  async until(count: number): Promise<Received[]> {
    while (this.received.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return this.received;
  }

  /** The ids of the events received, without those that followed each other. */
  get ids(): string[] {
    return this.received.map(({ event }) => event.id);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** @throws unless the request is signed with this secret, as the official library verifies it */
export const verify = ({ headers, body }: Received, secret: string): void => {
  new Webhook(secret).verify(body, headers);
};
