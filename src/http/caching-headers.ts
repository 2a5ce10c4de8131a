import type { Exchange, Headers } from './exchange.ts';

/**
 * Tells caches that what a read answers is for this key only and may change at any time (RFC 9111), and which request headers
 * choose the answer (RFC 9110 section 12.5.5).
 */
export function addCachingHeaders(headers: Headers, { method }: Exchange): void {
  if (method !== 'GET' && method !== 'HEAD' && method !== 'QUERY') return;
  headers.push('Cache-Control', 'private, no-cache', 'Vary', 'Accept, X-API-Key, Authorization');
}
