import { hash } from 'node:crypto';
import type { RequestContext } from './request-context.ts';
import type { HttpResponse } from './response.ts';

/**
 * A strong entity tag (RFC 9110 section 8.8.3). Equal bodies get equal tags on every instance, and collisions
 * cannot be crafted.
 */
export const etagOf = (body: string): string => `"${hash('sha256', body, 'base64url')}"`;

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"|^\s*\*\s*$/g) ?? [];

/** Whether If-Match names an entity tag, by strong comparison; `*` names any. */
export const matchesStrongly = (header: string, etag: string): boolean =>
  tagsOf(header).some((tag) => tag === etag || tag.trim() === '*');

/** Whether If-None-Match names an entity tag, by weak comparison; `*` names any. */
export const matchesWeakly = (header: string, etag: string): boolean =>
  matchesStrongly(header.replaceAll('W/"', '"'), etag.replace('W/', ''));

/** Whether a response to a read is a representation that the client has already, by its If-None-Match. */
export function isUnmodified({ isRead, headers }: RequestContext, { status, etag }: HttpResponse): boolean {
  const { 'if-none-match': header } = headers;
  return isRead && status === 200 && etag !== undefined && !!header && matchesWeakly(header, etag);
}
