import { type IncomingMessage, ServerResponse } from 'node:http';
import { CHUNK_SIZE, chunksOf } from './chunks.ts';

/** Bytes of unread responses that may be held in memory. */
const MAX_BYTES = 134_217_728;

/** Tracks the responses of one server that clients have not read yet, oldest first. */
export class UnreadResponses {
  readonly #max: number;
  readonly #bytes = new Map<ServerResponse, number>();
  #total = 0;

  constructor(max = MAX_BYTES) {
    this.#max = max;
  }

  /**
   * Records how much of a response is held. Beyond the maximum, disconnects the client that has been slow for
   * longest.
   */
  set(response: ServerResponse, bytes: number): void {
    const before = this.#bytes.get(response);
    if (before === undefined) response.once('close', () => this.#forget(response));
    this.#total += bytes - (before ?? 0);
    this.#bytes.set(response, bytes);
    if (this.#total <= this.#max) return;
    const [slowest] = this.#bytes.keys();
    this.#forget(slowest!);
    slowest!.socket?.destroy();
  }

  #forget(response: ServerResponse): void {
    this.#total -= this.#bytes.get(response) ?? 0;
    this.#bytes.delete(response);
  }
}

/**
 * Creates the server's response class. Its `end` writes in chunks as the client reads. Unsent text counts as
 * unread; buffers do not, because they are shared between responses.
 */
export const responseClass = (unread: UnreadResponses) =>
  class ChunkedResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
    // biome-ignore lint/suspicious/noExplicitAny: the overloads of node:http, which are passed on
    override end(body?: any, ...rest: any[]): this {
      const isText = typeof body === 'string';
      if (!isText && !Buffer.isBuffer(body)) {
        super.end(body, ...rest);
        if (this.writableLength > 0) unread.set(this, this.writableLength);
        return this;
      }
      if (body.length <= CHUNK_SIZE) {
        super.end(body, ...rest);
        if (isText && this.writableLength > 0) unread.set(this, this.writableLength);
        return this;
      }
      const length = Buffer.byteLength(body);
      if (!this.headersSent) this.setHeader('Content-Length', length);
      const pieces = chunksOf(body);
      let left = body.length;
      // Text beyond Latin-1 takes at least two bytes a character in memory, and more where it is encoded.
      const bytesPerUnit = length === body.length ? 1 : Math.max(2, length / body.length);
      const more = () => {
        for (let piece = pieces.next().value; piece !== undefined; piece = pieces.next().value) {
          left -= piece.length;
          if (this.write(piece)) continue;
          if (isText) unread.set(this, left * bytesPerUnit + this.writableLength);
          this.once('drain', more);
          return;
        }
        super.end();
      };
      more();
      return this;
    }
  };
