import { hash } from 'node:crypto';
import type { RequestContext } from './request-context.ts';
import type { HttpResponse } from './response.ts';

/**
 * A strong entity tag (RFC 9110 section 8.8.3). Equal bodies get equal tags on every instance, and collisions
 * cannot be crafted.
 */
export const etagOf = (body: string): string => `"${hash('sha256', body, 'base64url')}"`;

/** If-None-Match uses weak comparison; `*` matches anything that exists. */
export const matchesWeakly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).some((tag) => strong(tag) === strong(etag));

/** Whether a response to a read is a representation that the client has already, by its If-None-Match. */
export function isUnmodified(
  context: RequestContext,
  { status, etag }: Pick<HttpResponse, 'status' | 'etag'>,
): boolean {
  if (status !== 200 || etag === undefined || !context.isRead) return false;
  const ifNoneMatch = context.headers['if-none-match'];
  return ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, etag);
}

/** If-Match uses strong comparison; `*` matches anything that exists. */
export const matchesStrongly = (header: string, etag: string): boolean =>
  header.trim() === '*' || tagsOf(header).includes(etag);

const tagsOf = (header: string): string[] => header.match(/(?:W\/)?"[^"]*"/g) ?? [];

const strong = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag);
