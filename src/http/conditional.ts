import { matchesWeakly } from './etag.ts';
import type { RequestContext } from './request-context.ts';
import type { Headers, HttpResponse } from './response.ts';

/** Whether a response to a read is a representation that the client has already, by its If-None-Match. */
export function isUnmodified(
  context: RequestContext,
  { status, etag }: Pick<HttpResponse, 'status' | 'etag'>,
): boolean {
  if (status !== 200 || etag === undefined || !context.isRead) return false;
  const ifNoneMatch = context.header('if-none-match');
  return ifNoneMatch !== undefined && matchesWeakly(ifNoneMatch, etag);
}

/**
 * Marks responses to reads as private to the key and subject to change (RFC 9111), and names the request
 * headers that select the response (RFC 9110 section 12.5.5).
 */
export function addCachingHeaders(headers: Headers, context: RequestContext, etag: string | undefined): void {
  const vary = context.isRead ? context.transport?.vary : undefined;
  if (vary !== undefined) headers.push('Cache-Control', 'private, no-cache', 'Vary', vary);
  if (etag !== undefined) headers.push('ETag', etag);
}
