import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { cutOff, releaseParser } from './bounded-request.ts';

/** Requests that may always queue on a connection … */
const ALWAYS_ALLOWED = 16;
/** … and the total beyond which further ones are not queued: each takes about 3 kB, and 5 µs to parse. */
const MAX_WAITING = 5_000;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Turn {
  request: IncomingMessage;
  response: ServerResponse;
}

/** Requests queued on all connections of a server. */
interface Queue {
  length: number;
}

/** The open connections of a server. */
export class Pipelines extends Map<Socket, Pipeline> {
  readonly #handle: Handler;
  readonly #queue: Queue = { length: 0 };

  constructor(handle: Handler) {
    super();
    this.#handle = handle;
  }

  /** Called with each new connection. */
  readonly open = (socket: Socket): void => {
    this.set(socket, new Pipeline(socket, this.#handle, this.#queue));
    socket.once('close', () => {
      this.delete(socket);
      releaseParser(socket);
    });
  };

  /** Called with each request. */
  readonly take = (request: IncomingMessage, response: ServerResponse): void =>
    this.get(request.socket)?.enqueue(request, response);
}

/**
 * Handles the requests of one connection sequentially. A pipelined request may rely on the effects of the one
 * before it (RFC 9112 section 9.3.2), and a client that does not read its responses stops getting new ones.
 */
export class Pipeline {
  readonly #socket: Socket;
  readonly #handle: Handler;
  readonly #queue: Queue;
  readonly #waiting: Turn[] = [];
  #current: Turn | undefined;
  #latest: Turn | undefined;
  #refusal: (() => void) | undefined;

  constructor(socket: Socket, handle: Handler, queue: Queue) {
    this.#socket = socket;
    this.#handle = handle;
    this.#queue = queue;
    socket.once('close', () => {
      const left = this.#waiting.splice(0).length;
      // In the next turn, so that one turn parses no more than the maximum, on however many connections.
      setImmediate(() => {
        queue.length -= left;
      });
    });
  }

  /** Handles a request once the earlier ones are done. */
  enqueue(request: IncomingMessage, response: ServerResponse): void {
    const turn = { request, response };
    this.#latest = turn;
    if (this.#current === undefined) {
      this.#begin(turn);
      return;
    }
    if (this.#waiting.length >= ALWAYS_ALLOWED && this.#queue.length >= MAX_WAITING) {
      cutOff(this.#socket);
      return;
    }
    if (this.#socket.destroyed) return;
    this.#waiting.push(turn);
    this.#queue.length++;
    this.#socket.pause();
  }

  /**
   * Rejects malformed input after the pending responses.
   *
   * @param send writes the error and closes the connection
   */
  refuse(send: () => void): void {
    if (!this.#socket.writable) {
      this.#socket.destroy();
      return;
    }
    if (this.#refusal) return;
    this.#refusal = send;
    this.#socket.pause();
    const latest = this.#latest;
    if (latest && !latest.request.complete) this.#abandon(latest);
    if (this.#current === undefined) send();
  }

  /** Whether no request is in progress. */
  get isIdle(): boolean {
    return this.#current === undefined;
  }

  /** Whether another request is queued behind the current one. */
  get hasPending(): boolean {
    return this.#waiting.length > 0;
  }

  /** Malformed input arrived in the middle of this request, so it will never complete. */
  #abandon(turn: Turn): void {
    if (turn.response.headersSent) this.#refusal = () => this.#socket.destroy();
    if (this.#current === turn) {
      this.#current = undefined;
    } else if (this.#waiting.at(-1) === turn) {
      this.#waiting.pop();
      this.#queue.length--;
    }
  }

  #begin(turn: Turn): void {
    this.#current = turn;
    turn.response.once('close', () => {
      if (this.#current !== turn) return;
      // Nothing is done for a client that was told that this response is the last (RFC 9112 section 9.6).
      if (!turn.response.shouldKeepAlive) this.#queue.length -= this.#waiting.splice(0).length;
      this.#next();
    });
    this.#handle(turn.request, turn.response);
  }

  #next(): void {
    this.#current = undefined;
    if (this.#socket.destroyed) return;
    const turn = this.#waiting.shift();
    if (turn) {
      this.#queue.length--;
      this.#begin(turn);
    } else if (this.#refusal) {
      this.#refusal();
    } else {
      this.#socket.resume();
    }
  }
}
