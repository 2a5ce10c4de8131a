import type { IncomingMessage } from 'node:http';

const LOCAL_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
const LOOPBACK = /^(?:127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|::ffff:127\.\d{1,3}\.\d{1,3}\.\d{1,3})$/i;
/** What proxies add about the client they speak for. */
const FORWARDING =
  /^(?:forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/;

/**
 * Whether somebody on this machine asks, with a browser that knows it: from a loopback address, for a Host that means this
 * machine, through no proxy. A name of somebody else's that leads here (DNS rebinding) is another Host, and its page may
 * read no answer that is meant for this machine alone.
 */
export function isLocalRequest({ headers, socket }: IncomingMessage): boolean {
  const host = headers.host?.toLowerCase().replace(/:\d*$/, '') ?? '';
  return (
    LOCAL_HOSTS.has(host) &&
    LOOPBACK.test(socket.remoteAddress ?? '') &&
    !Object.keys(headers).some((name) => FORWARDING.test(name))
  );
}
