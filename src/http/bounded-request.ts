import { IncomingMessage } from 'node:http';

/** Chunks of a body. Each costs the parser as much as a kilobyte, however small it is. */
export const MAX_CHUNKS = 2_000;

/**
 * A request whose body is cut off where it has too many chunks. The rest is neither kept nor read from the
 * socket, so the connection must close after the response.
 */
export class BoundedRequest extends IncomingMessage {
  /** Whether the body was cut off. Then 'cut' was emitted. */
  isCut = false;
  #chunks = 0;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    if (chunk === null || ++this.#chunks <= MAX_CHUNKS) return super.push(chunk, encoding);
    // The segments of an unchunked body arrive one by one, which costs the sender as much.
    if (!this.isCut && this.headers['transfer-encoding'] === undefined) return super.push(chunk, encoding);
    if (!this.isCut) {
      this.isCut = true;
      this.emit('cut');
    }
    return false;
  }
}

/** Whether the body of a request was cut off because of the number of its chunks. */
export const isCut = (request: IncomingMessage): boolean =>
  request instanceof BoundedRequest && request.isCut;
