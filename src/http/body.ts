import type { IncomingMessage } from 'node:http';
import type { Session } from '../access/session.ts';
import { AppError, cut } from '../foundation/errors.ts';
import { acceptsContentType } from './media-type.ts';
import { type RequestContext, single } from './request-context.ts';

const MAX_BODY_BYTES = 100_000;

const tooLarge = () => new AppError('PAYLOAD_TOO_LARGE', `The body exceeds ${MAX_BODY_BYTES} bytes.`);

/**
 * Reads a body of at most MAX_BODY_BYTES, after checking its headers. A body without Content-Type counts as JSON.
 *
 * @param types the accepted media types
 * @throws PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, BAD_REQUEST if the client disconnects while sending
 */
export async function readBody(context: RequestContext, types: readonly string[]): Promise<Buffer> {
  const { request, headers } = context;
  const session = context.session!;
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const { 'content-type': type, 'content-encoding': coding = 'identity' } = headers;
  if (type && type !== types[0] && !acceptsContentType(single(type), types))
    throw unsupported(
      types,
      `Content-Type: ${type}`,
      `Set the header Content-Type: ${types[0]} (with curl: -H 'Content-Type: ${types[0]}').`,
    );
  // Content codings are case-insensitive (RFC 9110 section 8.4.1).
  if (coding.toLowerCase() !== 'identity')
    throw unsupported(types, `Content-Encoding: ${coding}`, 'Send it as it is, without this header.');
  // Most bodies arrive with the head, complete by the next microtask.
  await undefined;
  if (!request.complete && request.readableLength !== Number(headers['content-length']))
    return (context.body = await receiveBody(request, session));
  // Without a size, Node 26 returns the first chunk alone.
  const body: Buffer = request.read(request.readableLength) ?? NOTHING;
  session.bodyBytes = body.length;
  if (body.length > MAX_BODY_BYTES) throw tooLarge();
  return (context.body = body);
}

const NOTHING = Buffer.alloc(0);

/** @param session pays for the received bytes, even of a refused body */
async function receiveBody(request: IncomingMessage, session: Session): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      size += (chunk as Buffer).length;
      session.bodyBytes = Math.min(size, MAX_BODY_BYTES);
      if (size > MAX_BODY_BYTES) break;
      chunks.push(chunk as Buffer);
    }
  } catch {
    throw new AppError('BAD_REQUEST', 'The body is incomplete.');
  }
  if (size > MAX_BODY_BYTES) throw tooLarge();
  return Buffer.concat(chunks);
}

const unsupported = (types: readonly string[], sent: string, remedy: string) =>
  new AppError(
    'UNSUPPORTED_MEDIA_TYPE',
    `The body must be uncompressed ${types.join(' or ')} in UTF-8, but the request has ${cut(sent)}. ${remedy}`,
  );
