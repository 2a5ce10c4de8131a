import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** An IP address. IPv4-mapped IPv6 addresses become the IPv4 address they stand for. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * Parses an address as sockets and proxies write it: a bare one, or one with a port.
 *
 * @returns null if the text is not an address
 */
export function parseAddress(text: string): Address | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // The library also reads octal, hexadecimal and shortened forms, and takes `::192.0.2.1` for IPv4-mapped.
  return isIP(bare) === 0 ? null : ipaddr.process(bare.replace(/^::(?=\d+\.)/, '::0:'));
}

/**
 * The network that one customer gets: an IPv4 address itself, the first half of an IPv6 address.
 *
 * @param text what is not an address is known by its digest, since it may be long; proxies may send such identifiers
 * (RFC 7239 section 6)
 */
export function customerNetwork(text: string): string {
  const address = parseAddress(text);
  if (!address) return hash('sha256', text);
  return address.kind() === 'ipv4'
    ? address.toString()
    : `${Buffer.from(address.toByteArray().slice(0, 8)).toString('hex')}/64`;
}
