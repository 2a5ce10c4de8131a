import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Chunks of a body. Each costs the parser as much as a kilobyte, however small it is. */
export const MAX_CHUNKS = 2_000;
/** Chunks of a body that nobody wants. */
const MAX_DROPPED_CHUNKS = 256;
/** Bytes of a body that nobody wants to read, so that a client that sends before it reads gets the response. */
const MAX_DROPPED = 1_000_000;

/**
 * A request whose body is cut off where it has too many chunks. The rest is neither kept nor read from the
 * socket, so the connection must close after the response.
 */
export class BoundedRequest extends IncomingMessage {
  /** Whether the body was cut off. Then 'cut' was emitted. */
  isCut = false;
  /** Chunks received so far; none if the body is not chunked. */
  chunks = 0;
  /** Bytes that may still be dropped, once the body is not wanted. */
  #droppable: number | undefined;

  /** Reads on for a while to the end of a body that is not wanted. 'end' or 'cut' tells when that is done. */
  discard(): void {
    this.#droppable ??= MAX_DROPPED;
    this.resume();
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk === null) return super.push(chunk, encoding);
    // The segments of an unchunked body arrive one by one, which costs the sender as much.
    if (this.headers['transfer-encoding'] !== undefined) this.chunks++;
    if (this.isCut) return false;
    if (this.#droppable === undefined)
      return this.chunks > MAX_CHUNKS ? this.#cut() : super.push(chunk, encoding);
    this.#droppable -= chunk.length;
    return this.#droppable < 0 || this.chunks > MAX_DROPPED_CHUNKS ? this.#cut() : true;
  }

  #cut(): false {
    this.isCut = true;
    ignoreBody(this.socket);
    this.emit('cut');
    return false;
  }
}

/** What is undone for a connection before its parser serves another one. */
const ignoring = new WeakMap<Socket, () => void>();

/** What Node's parser calls with a part of a body, and with the other parts of a message. */
const BODY = ['parserOnBody'];
const MESSAGE = [...BODY, 'parserOnHeaders', 'parserOnHeadersComplete', 'parserOnMessageComplete'];

/**
 * Lets Node's parser skip what is left of a body, most of all in the segment that it has at hand: 64 kB of chunks
 * of a byte each take 7 ms if each is handed out as a buffer, half a millisecond otherwise. Does nothing if the
 * parser is made differently.
 */
const ignoreBody = (socket: Socket): void => ignore(socket, BODY);

/** Ends a connection, and skips the requests in the segment at hand: those of 64 kB take 11 ms. */
export function cutOff(socket: Socket): void {
  socket.destroy();
  ignore(socket, MESSAGE);
}

function ignore(socket: Socket, names: readonly string[]): void {
  const { parser } = socket as { parser?: Record<string, unknown> };
  const known = Object.entries(parser ?? {}).filter(([, handler]) =>
    names.includes((handler as { name?: string } | null)?.name ?? ''),
  );
  if (known.length === 0) return;
  for (const [slot] of known) parser![slot] = null;
  const former = ignoring.get(socket);
  ignoring.set(socket, () => {
    for (const [slot, handler] of known) parser![slot] = handler;
    former?.();
  });
}

/** To be called as soon as Node takes the parser from a connection, because it serves other connections then. */
export function releaseParser(socket: Socket): void {
  ignoring.get(socket)?.();
  ignoring.delete(socket);
}
