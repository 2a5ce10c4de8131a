import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError, cut } from '../foundation/errors.ts';
import { onArrival } from '../foundation/turns.ts';
import { BoundedRequest, MAX_CHUNKS } from './bounded-request.ts';
import { acceptsContentType } from './media-type.ts';
import type { RequestContext } from './request-context.ts';

const MAX_BODY_BYTES = 100_000;

const tooManyChunks = () =>
  new AppError('PAYLOAD_TOO_LARGE', `The body has more than ${MAX_CHUNKS.toLocaleString('en-US')} chunks.`);

const tooLarge = () => new AppError('PAYLOAD_TOO_LARGE', `The body exceeds ${MAX_BODY_BYTES} bytes.`);

/** The length of a body in bytes as its Content-Length says; infinite if it is chunked. */
export function declaredLength({ headers }: IncomingMessage): number {
  if (headers['transfer-encoding'] !== undefined) return Number.POSITIVE_INFINITY;
  return Number(headers['content-length'] ?? 0);
}

/**
 * Reads a body of at most MAX_BODY_BYTES. A body without Content-Type counts as JSON. What the headers say is
 * checked before any of the body is buffered. Sends 100 Continue if the client waits for it (RFC 9110 section
 * 10.1.1).
 *
 * @param types the media types that it may have
 * @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST if the client disconnects while sending
 */
export async function readBody(context: RequestContext, types: readonly string[]): Promise<Buffer> {
  const { request, response, headers, session } = context;
  const price = (bytes: number) => {
    if (session) session.bodyBytes = bytes;
  };
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const { 'content-type': type, 'content-encoding': coding = 'identity' } = headers;
  if (type !== undefined && type !== types[0] && !acceptsContentType(type, types))
    throw unsupported(types, `Content-Type: ${type}`);
  // Content codings are case-insensitive (RFC 9110 section 8.4.1).
  if (coding.toLowerCase() !== 'identity') throw unsupported(types, `Content-Encoding: ${coding}`);
  if (headers.expect !== undefined && expectsContinue(request)) response.writeContinue();
  // What came with the head is parsed before the next microtask, so most bodies are whole by then. Those in chunks are
  // once the parser has seen their end.
  await undefined;
  if (isCut(request)) throw tooManyChunks();
  if (!request.complete && request.readableLength !== Number(headers['content-length']))
    return receiveBody(request, price);
  const body: Buffer = request.read() ?? NOTHING;
  price(body.length);
  if (body.length > MAX_BODY_BYTES) throw tooLarge();
  return body;
}

const NOTHING = Buffer.alloc(0);

/** @param price notes how many bytes have been received, refused or not */
function receiveBody(request: IncomingMessage, price: (bytes: number) => void): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      price(Math.min(size, MAX_BODY_BYTES));
      if (size > MAX_BODY_BYTES) {
        request.removeAllListeners('data');
        request.resume();
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    request.on('end', () =>
      onArrival(() => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))),
    );
    const fail = () => reject(new AppError('BAD_REQUEST', 'The body is incomplete.'));
    request.on('error', fail);
    request.once('cut', () => reject(tooManyChunks()));
    request.on('aborted', fail);
  });
}

const unsupported = (types: readonly string[], sent: string) =>
  new AppError(
    'UNSUPPORTED_MEDIA_TYPE',
    `The body must be uncompressed ${types.join(' or ')} in UTF-8, but the request has ${cut(sent)}. Set the header Content-Type: ${types[0]} (with curl: -H 'Content-Type: ${types[0]}').`,
  );

/** How long the connection stays open for draining, in milliseconds. */
const DRAIN_TIMEOUT = 1_000;

/** Whether the body of a request was cut off because of the number of its chunks. */
const isCut = (request: IncomingMessage): boolean => request instanceof BoundedRequest && request.isCut;

/**
 * Whether the connection must close after the response. That is so if the response precedes a body too long
 * to drain, or one the client withholds until it gets 100 Continue: the next bytes could be that body or a
 * new request.
 */
export function mustCloseConnection({ request }: RequestContext): boolean {
  if (isCut(request)) return true;
  if (request.complete) return false;
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (length === undefined && coding === undefined) return false;
  return (
    coding !== undefined ||
    Number(length) > MAX_BODY_BYTES ||
    (request.readableFlowing === null && expectsContinue(request))
  );
}

/**
 * Sends the last response of a connection and closes it after giving the client time to read. Closing with
 * unread bytes resets the connection, and the response could be lost.
 *
 * @param body must match the Content-Length already sent
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
  if (request instanceof BoundedRequest) request.discard();
  request.once('end', end);
  request.once('close', end);
}

const expectsContinue = ({ headers: { expect } }: IncomingMessage): boolean =>
  expect !== undefined && /(?:^|\W)100-continue(?:$|\W)/i.test(expect);
