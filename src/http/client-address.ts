import type { IncomingMessage } from 'node:http';

/**
 * The client's address. Each of the `proxies` trusted proxies appends the address it saw to X-Forwarded-For,
 * so the outermost one's entry counts. Entries further left are unverified client input.
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
