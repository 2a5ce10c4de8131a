import { createHash, hash } from 'node:crypto';
import { CHUNK_SIZE, chunksOf } from './chunks.ts';

/**
 * A strong entity tag (RFC 9110 section 8.8.3): equal for equal bodies, whichever request or instance made them, and no
 * two bodies with one tag can be made up.
 */
export const etagOf = (body: string): string => `"${digestOf(body)}"`;

/** In one call, which is fastest, or in pieces, so that what is long isn't kept a second time as bytes. */
function digestOf(body: string): string {
  if (body.length <= CHUNK_SIZE) return hash('sha256', body, 'base64url');
  const digest = createHash('sha256');
  for (const piece of chunksOf(body)) digest.update(piece);
  return digest.digest('base64url');
}

/** If-None-Match: weak comparison; `*` matches whatever exists. */
export const matchesWeakly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).some((tag) => tag.replace(/^W\//, '') === etag);

/** If-Match: strong comparison; `*` matches whatever exists. */
export const matchesStrongly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).includes(etag);

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];
