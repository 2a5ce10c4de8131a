import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../errors.ts';
import type { Exchange } from './exchange.ts';

/** 100 kB. */
const MAX_BODY_BYTES = 100_000;

const tooLarge = () => new AppError('PAYLOAD_TOO_LARGE', `The body is larger than ${MAX_BODY_BYTES} bytes.`);

/**
 * Refuses a body by its declared length, before a byte of it is kept.
 *
 * @throws PAYLOAD_TOO_LARGE
 */
export function checkLength(request: IncomingMessage): void {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
}

/**
 * Reads a body of at most MAX_BODY_BYTES bytes. A client that asks whether it may send it is told so (RFC 9110 section 10.1.1).
 *
 * @throws PAYLOAD_TOO_LARGE, BAD_REQUEST when the client goes away in the middle
 */
export function readBody(exchange: Exchange): Promise<Buffer> {
  const { request, response } = exchange;
  if (expectsContinue(request)) response.writeContinue();
  exchange.isBodyRead = true;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_BODY_BYTES) {
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

/** Of what nobody wants to know, so much is taken in, so that a client that sends first and reads then gets to its answer. */
const MAX_DROPPED = 1_000_000;
/** How long the connection stays open for that, in milliseconds. */
const DRAIN_TIMEOUT = 1_000;

/**
 * Whether an answer is the last of its connection because it comes before a body that is too long to be dropped for
 * nothing, or that the client holds back until it is asked for: what it sends next could then be either.
 */
export function mustCloseConnection({ request, isBodyRead }: Exchange): boolean {
  if (request.complete) return false;
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (length === undefined && coding === undefined) return false;
  return coding !== undefined || Number(length) > MAX_BODY_BYTES || (!isBodyRead && expectsContinue(request));
}

/**
 * Sends the last answer of a connection and closes that, though not before the client had time to read: a connection that
 * is closed on bytes that nobody has taken is reset, and the answer may be lost with it.
 *
 * @param body of the length that the headers tell
 */
export function respondAndClose(
  request: IncomingMessage,
  response: ServerResponse,
  body: string | Buffer | undefined,
): void {
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  const end = () => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(end, DRAIN_TIMEOUT);
  let left = MAX_DROPPED;
  request.on('data', (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) request.pause();
  });
  request.once('end', end);
  request.once('close', end);
}

const expectsContinue = ({ headers: { expect } }: IncomingMessage): boolean =>
  expect !== undefined && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
