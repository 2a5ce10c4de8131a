import { BlockList, isIP, isIPv4 } from 'node:net';
import { parseAddress } from '../foundation/address.ts';
import { AppError } from '../foundation/errors.ts';

/** Where a key may be used from. */
export interface Reach {
  /** Any network if absent. Ask {@link isAllowedFrom}. */
  networks?: NetworkList;
}

/** Networks per key. */
export const MAX_NETWORKS = 20;

interface Network {
  address: string;
  prefix: number;
  family: 'ipv4' | 'ipv6';
}

const IPV4_MAPPED = /^::ffff:([\d.]+)$/i;

/** Parses `10.0.0.0/8`, `2001:db8::/32` or a single address. @returns null for anything else */
function parseNetwork(text: string): Network | null {
  const [address = '', length, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || rest.length > 0) return null;
  const bits = version === 4 ? 32 : 128;
  if (length !== undefined && !/^(0|[1-9]\d{0,2})$/.test(length)) return null;
  const prefix = length === undefined ? bits : Number(length);
  if (prefix > bits) return null;
  const mapped = IPV4_MAPPED.exec(address)?.[1];
  if (mapped !== undefined && isIPv4(mapped) && prefix >= 96)
    return { address: mapped, prefix: prefix - 96, family: 'ipv4' };
  return { address, prefix, family: version === 4 ? 'ipv4' : 'ipv6' };
}

/** Whether a text is a network in CIDR notation, or a single address. */
export const isNetwork = (text: string): boolean => parseNetwork(text) !== null;

/** Networks in CIDR notation. IPv4 addresses belong to IPv4 networks alone, also in their IPv4-mapped form. */
export class NetworkList {
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  /** @param networks anything else than a network contains no address */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseNetwork(text);
      if (network) this.#lists[network.family].addSubnet(network.address, network.prefix, network.family);
    }
  }

  /** @param text as sockets and proxies write an address; false also for what is none */
  has(text: string): boolean {
    const address = parseAddress(text);
    return address !== null && this.#lists[address.kind()].check(address.toString(), address.kind());
  }
}

/** Refuses a key that may not be used from where the caller is. */
export const foreignAddress = (): AppError =>
  new AppError('FORBIDDEN', 'The API key may not be used from this address.');

/** Whether a key may be used from an address. What is no address, as a proxy may forward, is not allowed. */
export const isAllowedFrom = ({ networks }: Reach, address: string): boolean =>
  networks === undefined || networks.has(address);
