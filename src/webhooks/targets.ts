import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { NetworkList } from '../access/networks.ts';

/** The range of all global unicast IPv6 addresses (https://www.iana.org/assignments/ipv6-address-space). */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** A public address that Azure serves inside each virtual machine, with secrets. */
const AZURE_WIRE_SERVER = '168.63.129.16';

/** True if an address is global unicast and embeds no other address, by IANA's special-purpose registries. */
function isPublic(text: string): boolean {
  if (text === AZURE_WIRE_SERVER) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(GLOBAL_IPV6);
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'];

const IPV4_MAPPED = /^::ffff:/i;

/** The error for a name whose addresses are all refused. */
export class RefusedAddressError extends Error {}

/** A function that finds all addresses of a name. */
type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** The time limit for a name server, in milliseconds, doubled on the second try: less in total than for an attempt. */
const PATIENCE = { timeout: 3_000, tries: 2 };

/** True if this machine's own settings resolve a name. */
function isLocalName(name: string): boolean {
  if (!name.includes('.')) return true;
  try {
    return readFileSync('/etc/hosts', 'utf8').toLowerCase().split(/\s+/).includes(name);
  } catch {
    return false;
  }
}

/**
 * Creates a resolver for all addresses of a name. It asks name servers over sockets: the system's own look-up occupies
 * one of the four threads of this process, so names whose servers are silent would block all other names, and file
 * access. The system's is only used for local names.
 *
 * @param servers name servers, by default the system's, which are read each time, since they change
 */
export const resolveBy =
  (servers?: readonly string[]): Resolve =>
  async (hostname) => {
    if (isLocalName(hostname)) return lookup(hostname, { all: true });
    const resolver = new Resolver(PATIENCE);
    if (servers) resolver.setServers(servers);
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = [
      ...(v4.status === 'fulfilled' ? v4.value.map((address) => ({ address, family: 4 })) : []),
      ...(v6.status === 'fulfilled' ? v6.value.map((address) => ({ address, family: 6 })) : []),
    ];
    if (addresses.length === 0) throw (v4 as PromiseRejectedResult).reason;
    return addresses;
  };

/** The rules for the addresses of receivers. */
export class Targets {
  readonly #allowed: NetworkList;
  readonly #allowsAny: boolean;
  readonly #resolve: Resolve;

  /**
   * @param allowed networks that are permitted in addition, even over http
   * @param allowsLoopback true to permit this machine too
   * @param resolve finds all addresses of a name
   */
  constructor(allowed: readonly string[], allowsLoopback = false, resolve: Resolve = resolveBy()) {
    this.#allowed = new NetworkList(allowsLoopback ? [...allowed, ...LOOPBACK] : allowed);
    this.#allowsAny = allowed.length > 0;
    this.#resolve = resolve;
  }

  /** True if a request over this protocol may go to this address. */
  permits(protocol: string, address: string): boolean {
    // A network list would check the embedded IPv4 address.
    const isAllowed = !IPV4_MAPPED.test(address) && this.#allowed.has(address);
    return isAllowed || (protocol === 'https:' && isPublic(address));
  }

  /**
   * The reason why a well-formed URL is not allowed as a receiver; undefined if it is. Names are not resolved, but
   * those that always mean this machine count as its address (RFC 6761 section 6.3).
   */
  refusal(text: string): string | undefined {
    const url = new URL(text);
    const literal =
      literalOf(url) ?? (/^(?:.*\.)?localhost\.?$/.test(url.hostname) ? '127.0.0.1' : undefined);
    const isSecure = url.protocol === 'https:';
    if (literal === undefined) return isSecure || this.#allowsAny ? undefined : 'must be an https:// address';
    if (this.permits(url.protocol, literal)) return undefined;
    return !isSecure && !this.#allowed.has(literal) && isPublic(literal)
      ? 'must be an https:// address'
      : 'must lead to a public address; the operator permits other networks by WEBHOOK_ALLOW';
  }

  /**
   * The `lookup` of a connecting socket, which leaves out refused addresses. So the checked addresses are those
   * connected to, however often a name is resolved.
   */
  lookupFor(protocol: string): LookupFunction {
    return (hostname, { all }, callback) => {
      this.#resolve(hostname).then(
        (resolved) => {
          const addresses = resolved.filter(({ address }) => this.permits(protocol, address));
          const [first] = addresses;
          if (!first) callback(new RefusedAddressError(hostname), '', 0);
          else if (all) callback(null, addresses);
          else callback(null, first.address, first.family);
        },
        (error) => callback(error, '', 0),
      );
    };
  }
}

/** The address in a URL whose host is an IP literal, which Node doesn't look up. */
export function literalOf({ hostname }: URL): string | undefined {
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(host) === 0 ? undefined : host;
}
