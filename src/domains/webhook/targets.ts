import { type LookupAddress, type LookupAllOptions, lookup } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import { NetworkList } from '../../access/networks.ts';

/**
 * Everything in IANA's special-purpose registries that is not globally reachable or leads to another address,
 * and multicast (https://www.iana.org/assignments/iana-ipv4-special-registry). Node's BlockList matches
 * subnets, so no library has to.
 */
const SPECIAL_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...[
    '192.0.0.0/24',
    '192.0.2.0/24',
    '192.31.196.0/24',
    '192.52.193.0/24',
    '192.88.99.0/24',
    '192.168.0.0/16',
  ],
  ...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];
/**
 * The same for IPv6 within 2000::/3, outside of which nothing is global unicast
 * (https://www.iana.org/assignments/iana-ipv6-special-registry). So IPv4-mapped and NAT64 addresses are out
 * anyway; 6to4 is 2002::/16.
 */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

function listOf(family: 'ipv4' | 'ipv6', networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address, prefix] = network.split('/') as [string, string];
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

const special = { ipv4: listOf('ipv4', SPECIAL_IPV4), ipv6: listOf('ipv6', SPECIAL_IPV6) };
const globalUnicast = listOf('ipv6', ['2000::/3']);

/** Whether an address is global unicast and stands for no other. */
const isPublic = (address: string): boolean =>
  isIPv6(address)
    ? globalUnicast.check(address, 'ipv6') && !special.ipv6.check(address, 'ipv6')
    : !special.ipv4.check(address, 'ipv4');

const IPV4_MAPPED = /^::ffff:/i;

/** Fails a connection whose addresses are all refused. */
export class RefusedAddressError extends Error {}

type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** Where requests to receivers may go. */
export class Targets {
  readonly #allowed: NetworkList;
  readonly #allowsAny: boolean;
  readonly #resolve: Resolve;

  /**
   * @param allowed networks that are permitted in addition, over http too
   * @param resolve finds all addresses of a name
   */
  constructor(allowed: readonly string[], resolve: Resolve = lookup) {
    this.#allowed = new NetworkList(allowed);
    this.#allowsAny = allowed.length > 0;
    this.#resolve = resolve;
  }

  /** Whether a request with this protocol may go to this address. */
  permits(protocol: string, address: string): boolean {
    // A list would judge the IPv4 address within.
    const isAllowed = !IPV4_MAPPED.test(address) && this.#allowed.has(address);
    return isAllowed || (protocol === 'https:' && isPublic(address));
  }

  /** Why a well-formed URL cannot be that of a receiver; undefined if it can. Names are not resolved. */
  refusal(text: string): string | undefined {
    const url = new URL(text);
    const literal = literalOf(url);
    const isSecure = url.protocol === 'https:';
    if (literal === undefined) return isSecure || this.#allowsAny ? undefined : 'must be an https:// address';
    if (this.permits(url.protocol, literal)) return undefined;
    return !isSecure && !this.#allowed.has(literal) && isPublic(literal)
      ? 'must be an https:// address'
      : 'must not lead to an address that is not public';
  }

  /**
   * The look-up of a connecting socket: what it judged is what is connected. Addresses that are refused are
   * left out, however often the name is resolved.
   */
  lookupFor(protocol: string): LookupFunction {
    return (hostname, options, callback) => {
      this.#resolve(hostname, { ...options, all: true }, (error, found) => {
        const addresses: LookupAddress[] = error
          ? []
          : found.filter(({ address }) => this.permits(protocol, address));
        const [first] = addresses;
        if (error) callback(error, '', 0);
        else if (!first) callback(new RefusedAddressError(hostname), '', 0);
        else if (options.all) callback(null, addresses);
        else callback(null, first.address, first.family);
      });
    };
  }
}

/** The address in a URL whose host is one, for which Node does no look-up. */
export function literalOf({ hostname }: URL): string | undefined {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(host) === 0 ? undefined : host;
}
