import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { TestGateway } from './gateway.ts';

/** A server-sent event as received. */
export interface Message {
  id?: string;
  event?: string;
  data?: string;
}

export interface StreamCall {
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A client for server-sent events that exposes everything on the wire. */
export class EventStreamClient {
  readonly response: IncomingMessage;
  readonly #request: ClientRequest;
  /** Everything received, byte for byte. */
  text = '';
  readonly messages: Message[] = [];
  /** Resolves when the server has ended the response or closed the connection. */
  readonly ended: Promise<void>;
  #rest = '';
  #waiting: (() => void)[] = [];

  private constructor(request: ClientRequest, response: IncomingMessage) {
    this.#request = request;
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.#take(chunk));
    this.ended = new Promise((resolve) => {
      response.once('close', () => {
        resolve();
        this.#wake();
      });
    });
    response.on('error', () => {});
  }

  static open(
    { url, key }: Pick<TestGateway, 'url' | 'key'>,
    path: string,
    call: StreamCall = {},
  ): Promise<EventStreamClient> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        url + path,
        {
          method: call.method ?? 'GET',
          agent: false,
          headers: { 'x-api-key': call.key ?? key, accept: 'text/event-stream', ...call.headers },
        },
        (response) => resolve(new EventStreamClient(request, response)),
      );
      request.on('error', reject);
      request.end(call.body);
    });
  }

  get isOpen(): boolean {
    return !this.response.destroyed && !this.response.readableEnded;
  }

  /** The data of the events received so far, parsed. */
  get events() {
    return this.messages.map(({ data }) => JSON.parse(data!));
  }

  /** Waits for this many messages, or for the end. */
  async until(count: number): Promise<Message[]> {
    while (this.messages.length < count && this.isOpen) await this.#next();
    return this.messages;
  }

  /** Waits until the received text contains this. */
  async untilText(part: string): Promise<void> {
    while (!this.text.includes(part) && this.isOpen) await this.#next();
  }

  close(): void {
    this.#request.destroy();
  }

  #next(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const look of this.#waiting.splice(0)) look();
  }

  #take(chunk: string): void {
    this.text += chunk;
    const blocks = (this.#rest + chunk).split('\n\n');
    this.#rest = blocks.pop()!;
    for (const block of blocks) {
      const lines = block.split(/[\n\u2028\u2029]/).map((line) => /^(id|event|data): ?(.*)$/.exec(line));
      const message = Object.fromEntries(lines.flatMap((field) => (field ? [[field[1], field[2]]] : [])));
      if ('event' in message) this.messages.push(message);
    }
    this.#wake();
  }
}
