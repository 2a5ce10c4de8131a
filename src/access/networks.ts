import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, parseAddress } from '../foundation/address.ts';
import { AppError } from '../foundation/errors.ts';

/** Where a key may be used from. */
export interface Reach {
  /** Any network if absent. What is no address, as a proxy may forward, is in none. */
  networks?: NetworkList;
}

/** Networks per key. */
export const MAX_NETWORKS = 20;

/** An address and how many of its first bits count. */
type Network = [address: Address, bits: number];

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. @returns null for anything else */
function parseNetwork(text: string): Network | null {
  const [address = '', length, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return null;
  const bits = version === 4 ? 32 : 128;
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return null;
  const prefix = length === undefined ? bits : Number(length);
  if (prefix > bits) return null;
  const parsed = parseAddress(address)!;
  if (version === 4 || parsed.kind() === 'ipv6') return [parsed, prefix];
  return prefix >= 96 ? [parsed, prefix - 96] : [ipaddr.parse(address), prefix];
}

/** Whether a text is a network in CIDR notation, or a single address. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null;

/** Networks in CIDR notation. IPv4 addresses belong to IPv4 networks alone, also in their IPv4-mapped form. */
export class NetworkList {
  readonly #networks: readonly Network[];

  /** @param networks anything else than a network contains no address */
  constructor(networks: readonly string[]) {
    this.#networks = networks.flatMap((text) => {
      const network = parseNetwork(text);
      return network ? [network] : [];
    });
  }

  /** @param text as sockets and proxies write an address; false also for what is none */
  has(text: string): boolean {
    const address = parseAddress(text);
    return address !== null && this.#networks.some((network) => isIn(address, network));
  }
}

/** Node's BlockList would make an object outside of the heap for each address, which costs 20 µs a request. */
const isIn = (address: Address, [network, bits]: Network): boolean =>
  address instanceof ipaddr.IPv4
    ? network instanceof ipaddr.IPv4 && address.match(network, bits)
    : network instanceof ipaddr.IPv6 && address.match(network, bits);

/** Refuses a key that may not be used from where the caller is. */
export const foreignAddress = (): AppError =>
  new AppError('FORBIDDEN', 'The API key may not be used from this address.');
