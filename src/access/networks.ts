import { hash } from 'node:crypto';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { AppError } from '../foundation/errors.ts';

/** An IP address. IPv4-mapped IPv6 addresses become the IPv4 address they stand for. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Parses an address as sockets and proxies write it, with or without a port. @returns null for anything else */
function parseAddress(text: string): Address | null {
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
  // The library also reads octal, hexadecimal and shortened forms, and takes `::192.0.2.1` for IPv4-mapped.
  return isIP(bare) === 0 ? null : ipaddr.process(bare.replace(/^::(?=\d+\.)/, '::0:'));
}

/**
 * The network of one customer: an IPv4 address itself, or the first half of an IPv6 address.
 *
 * @param text an address, or any other identifier that a proxy sends (RFC 7239 section 6), represented by its digest
 * since it may be long
 */
export function customerNetwork(text: string): string {
  const address = parseAddress(text);
  if (!address) return hash('sha256', text);
  return address.kind() === 'ipv4'
    ? address.toString()
    : `${Buffer.from(address.toByteArray().slice(0, 8)).toString('hex')}/64`;
}

/** The networks that a key may be used from. */
export interface Reach {
  /** Any network if absent. A forwarded identifier that isn't an address is in no network. */
  networks?: NetworkList;
}

/** Maximum networks per key. */
export const MAX_NETWORKS = 20;

/** An address and the number of its leading bits that count. */
type Network = [address: Address, bits: number];

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. @returns null for anything else */
function parseNetwork(text: string): Network | null {
  const [, address = '', prefix] = /^([^/%]+)(?:\/(0|[1-9]\d*))?$/.exec(text) ?? [];
  const version = isIP(address);
  if (version === 0) return null;
  const network = parseAddress(address)!;
  const length = version === 4 ? 32 : 128;
  // An IPv4-mapped network is the IPv4 network it stands for.
  const skipped = length === 128 && network.kind() === 'ipv4' ? 96 : 0;
  const bits = Number(prefix ?? length);
  return bits < skipped || bits > length ? null : [network, bits - skipped];
}

/** True if a text is a network in CIDR notation, or a single address. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null;

/** Lists of networks in CIDR notation. IPv4 addresses, IPv4-mapped ones included, belong to IPv4 networks alone. */
export class NetworkList {
  readonly #lists: readonly (readonly Network[])[];

  /** @param lists an address must be in all of them. Anything but a network is ignored */
  constructor(...lists: readonly (readonly string[])[]) {
    this.#lists = lists.map((networks) => networks.map(parseNetwork).filter((network) => network !== null));
  }

  /** @param text an address as sockets and proxies write it; false for anything else */
  has(text: string): boolean {
    const address = parseAddress(text);
    return address !== null && this.#contains([address, Number.POSITIVE_INFINITY]);
  }

  /** True if the list contains every address of a network. @param text in CIDR notation */
  covers(text: string): boolean {
    const network = parseNetwork(text);
    return network !== null && this.#contains(network);
  }

  /** Node's BlockList would create an off-heap object for each address, at 20 µs a request. */
  #contains([address, least]: Network): boolean {
    return this.#lists.every((networks) =>
      networks.some(
        ([network, bits]) =>
          network.kind() === address.kind() && bits <= least && address.match(network, bits),
      ),
    );
  }
}

/** The error for a key that may not be used from the caller's address. */
export const foreignAddress = (): AppError =>
  new AppError('FORBIDDEN', 'The API key may not be used from this address.');
