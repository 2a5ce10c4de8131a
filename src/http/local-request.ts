import type { IncomingMessage } from 'node:http';
import { isLoopback } from '../foundation/address.ts';

const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Headers that proxies add about the client. */
const FORWARDING =
  /^(?:forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/;

/**
 * Whether the request comes directly from this machine: from a loopback address, for a local Host, through no
 * proxy. With DNS rebinding a foreign name points here; its Host differs, so its page cannot read responses
 * meant for this machine only.
 */
export function isLocalRequest({ headers, socket }: IncomingMessage): boolean {
  const host = headers.host?.toLowerCase().replace(/:\d*$/, '') ?? '';
  return (
    LOCAL_HOSTS.has(host) &&
    isLoopback(socket.remoteAddress ?? '') &&
    !Object.keys(headers).some((name) => FORWARDING.test(name))
  );
}
