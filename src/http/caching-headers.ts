import type { Exchange, Headers } from './exchange.ts';

/**
 * Marks responses to reads as private to the key and subject to change (RFC 9111), and names the request
 * headers that select the response (RFC 9110 section 12.5.5).
 */
export function addCachingHeaders(headers: Headers, { method }: Exchange): void {
  if (method !== 'GET' && method !== 'HEAD' && method !== 'QUERY') return;
  headers.push('Cache-Control', 'private, no-cache', 'Vary', 'Accept, X-API-Key, Authorization');
}
