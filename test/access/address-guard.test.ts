import { beforeEach, describe, expect, it } from 'vitest';
import { AddressGuard } from '../../src/access/address-guard.ts';
import { customerNetwork } from '../../src/access/networks.ts';
import { Clock } from '../kit/gateway.ts';

const MINUTE = 60_000;
let clock: Clock;
let guard: AddressGuard;
beforeEach(() => {
  clock = new Clock();
  guard = new AddressGuard(clock);
});
const remaining = (address: string) => guard.view(address).remaining;

describe('AddressGuard', () => {
  it('admits 60 requests per minute and address, and more when the minute is over', () => {
    for (let i = 0; i < 60; i++) {
      expect(guard.take('192.0.2.1')).toBe(true);
      expect(remaining('192.0.2.1')).toBe(59 - i);
    }
    expect(guard.take('192.0.2.1')).toBe(false);
    clock.advance(MINUTE - 1);
    expect(guard.take('192.0.2.1')).toBe(false);
    expect(guard.view('192.0.2.1')).toEqual({ limit: 60, remaining: 0, resetAt: clock.now() + 1 });
    clock.advance(1);
    expect(guard.view('192.0.2.1')).toEqual({ limit: 60, remaining: 60, resetAt: clock.now() + MINUTE });
    expect(guard.take('192.0.2.1')).toBe(true);
    expect(remaining('192.0.2.1')).toBe(59);
  });

  it('keeps nothing of what is no address but its digest', () => {
    expect(customerNetwork('x'.repeat(16_000))).toHaveLength(64);
  });

  it('reports a full window for an address it has not seen', () => {
    expect(guard.view('192.0.2.7')).toEqual({ limit: 60, remaining: 60, resetAt: clock.now() + MINUTE });
  });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['192.0.2.1', '::FFFF:192.0.2.1'],
    ['198.51.100.123', '::ffff:198.51.100.123'],
    ['192.0.2.1', '192.0.2.1:44321'],
    ['2001:db8:1:2::1', '[2001:db8:1:2::1]:44321'],
    ['2001:db8:1:2::1', '[2001:db8:1:2::1]'],
    ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff'],
    ['2001:db8:1:2::1', '2001:0DB8:0001:0002::9'],
    ['2001:db8::1', '2001:db8:0:0:5::'],
    ['2001:db8::1:2:3:4:5', '2001:db8:0:1::9'],
    ['::1', '0:0:0:0:0:0:0:2'],
    ['fe80::1%eth0', 'fe80::2%eth1'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4::'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::'],
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
    ['1::', '::1'],
    ['1::5:6:7:8', '1:5:6:7:8::'],
    ['1::ffff:192.0.2.1', '192.0.2.1'],
    ['1:23::', '12:3::'],
    // Not addresses; RFC 7239 section 6 allows some such identifiers.
    ['unknown', '_hidden'],
    ['x[2001:db8:1:2::1]', '2001:db8:1:2::1'],
    ['[2001:db8:1:2::1]x', '2001:db8:1:2::1'],
    ['::ffff:192.0.2.1x', '192.0.2.1'],
    ['1:2:3:4:5:6:7:8:9:10', '1:2:3:5::'],
  ])('counts %s and %s separately', (address, other) => {
    guard.take(address);
    expect(remaining(other)).toBe(60);
  });
});
