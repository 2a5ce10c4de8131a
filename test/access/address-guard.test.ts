import { beforeEach, describe, expect, it } from 'vitest';
import { AddressGuard } from '../../src/access/address-guard.ts';
import { customerNetwork } from '../../src/access/networks.ts';
import { Clock } from '../kit/gateway.ts';

let clock: Clock;
let guard: AddressGuard;
beforeEach(() => {
  clock = new Clock();
  guard = new AddressGuard(clock);
});
const remaining = (address: string) => guard.view(address).remaining;

describe('AddressGuard', () => {
  it('keeps nothing of what is no address but its digest', () => {
    expect(customerNetwork('x'.repeat(16_000))).toHaveLength(64);
  });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['192.0.2.1', '::FFFF:192.0.2.1'],
    ['192.0.2.1', '192.0.2.1:44321'],
    ['2001:db8:1:2::1', '[2001:db8:1:2::1]:44321'],
    ['2001:db8:1:2::1', '[2001:db8:1:2::1]'],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:1:2::1', '2001:0DB8:0001:0002::9'],
    ['fe80::1%eth0', 'fe80::2%eth1'],
  ])('counts %s and %s together', (address, other) => {
    guard.take(address);
    expect(remaining(other)).toBe(59);
    guard.take(other);
    expect(remaining(address)).toBe(58);
  });

  it.each([
    ['192.0.2.1', '192.0.2.10'],
    ['192.0.2.1', '2.0.2.1'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['2001:db8:1:2::1', '2001:db8:12::1'],
    // Not addresses; RFC 7239 section 6 allows some such identifiers.
    ['unknown', '_hidden'],
    ['x[2001:db8:1:2::1]', '2001:db8:1:2::1'],
    ['[2001:db8:1:2::1]x', '2001:db8:1:2::1'],
  ])('counts %s and %s separately', (address, other) => {
    guard.take(address);
    expect(remaining(other)).toBe(60);
  });
});
