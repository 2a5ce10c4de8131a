import type { IncomingMessage } from 'node:http';

/**
 * The address of the client. With `proxies` trusted proxies before the gateway, each of which adds the address it saw to
 * X-Forwarded-For, it is the entry that the outermost of them added; anything further left is the client's own claim.
 */
export function clientAddress(request: IncomingMessage, proxies: number): string {
  const peer = request.socket.remoteAddress ?? '';
  if (proxies === 0) return peer;
  const header = request.headers['x-forwarded-for'];
  const hops = [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((hop) => hop.trim())
    .filter((hop) => hop !== '');
  return hops.at(-Math.min(proxies, hops.length)) ?? peer;
}
