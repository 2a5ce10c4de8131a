import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';

/** 100 kB (contract section 4). */
export const LARGEST_BODY = 100_000;

const tooLarge = () => new AppError('PAYLOAD_TOO_LARGE', `The body is larger than ${LARGEST_BODY} bytes.`);

/**
 * Refuses a body by its declared length, before a byte of it is kept. What comes is read and dropped, within the server's
 * time limit: closing at once would reset the connection before the client has read the answer.
 */
export function checkLength(request: IncomingMessage): void {
  if (Number(request.headers['content-length'] ?? 0) > LARGEST_BODY) throw tooLarge();
}

/**
 * Reads a body of at most LARGEST_BODY bytes.
 *
 * @throws PAYLOAD_TOO_LARGE, BAD_REQUEST when the client goes away in the middle
 */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > LARGEST_BODY) {
        request.removeAllListeners('data');
        request.resume();
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    const cut = () => reject(new AppError('BAD_REQUEST', 'The body was cut off.'));
    request.on('error', cut);
    request.on('aborted', cut);
  });
}
