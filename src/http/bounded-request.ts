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
  #chunks = 0;
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
    if (this.headers['transfer-encoding'] !== undefined) this.#chunks++;
    if (this.isCut) return false;
    if (this.#droppable === undefined)
      return this.#chunks > MAX_CHUNKS ? this.#cut() : super.push(chunk, encoding);
    this.#droppable -= chunk.length;
    return this.#droppable < 0 || this.#chunks > MAX_DROPPED_CHUNKS ? this.#cut() : true;
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

/**
 * Lets Node's parser skip what is left of a body, most of all in the segment that it has at hand: 64 kB of chunks
 * of a byte each take 7 ms if each is handed out as a buffer, half a millisecond otherwise. Does nothing if the
 * parser is made differently.
 */
function ignoreBody(socket: Socket): void {
  const { parser } = socket as { parser?: Record<string, unknown> };
  const slot = Object.keys(parser ?? {}).find(
    (name) => (parser![name] as { name?: string } | null)?.name === 'parserOnBody',
  );
  if (slot === undefined) return;
  const handOut = parser![slot];
  parser![slot] = null;
  ignoring.set(socket, () => {
    parser![slot] = handOut;
  });
}

/** To be called as soon as Node takes the parser from a connection, because it serves other connections then. */
export function releaseParser(socket: Socket): void {
  ignoring.get(socket)?.();
  ignoring.delete(socket);
}
