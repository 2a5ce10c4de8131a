import { describe, expect, it } from 'vitest';
import { isAllowedFrom, isNetwork, NetworkList } from '../../src/access/networks.ts';

describe('networks', () => {
  it.each(['10.0.0.0/8', '192.0.2.1', '0.0.0.0/0', '2001:db8::/32', '::1', '::ffff:10.0.0.0/104', '::/0'])(
    '%s is one',
    (text) => {
      expect(isNetwork(text)).toBe(true);
    },
  );

  it.each([
    '',
    'any',
    '10.0.0/8',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '2001:db8::/129',
    'fe80::1%eth0',
    '10.0.0.256',
    ' 10.0.0.1',
    'localhost',
  ])('%j is none', (text) => {
    expect(isNetwork(text)).toBe(false);
  });

  it.each<[string[], string, boolean]>([
    [['10.0.0.0/8'], '10.1.2.3', true],
    [['10.0.0.0/8'], '11.1.2.3', false],
    [['10.0.0.0/8'], '::ffff:10.1.2.3', true],
    [['10.0.0.0/8'], '::ffff:11.1.2.3', false],
    [['::ffff:10.0.0.0/104'], '10.1.2.3', true],
    [['192.0.2.1'], '192.0.2.1', true],
    [['192.0.2.1'], '192.0.2.2', false],
    [['2001:db8::/32'], '2001:db8:ffff::1', true],
    [['2001:db8::/32'], '2001:db9::1', false],
    [['::/0'], '2001:db9::1', true],
    [['::/0'], '10.1.2.3', false],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['10.0.0.0/8', '2001:db8::/32'], '2001:db8::1', true],
    [['0.0.0.0/0', '::/0'], 'unknown', false],
    [['0.0.0.0/0', '::/0'], '', false],
    [['nonsense'], '10.0.0.1', false],
    [[], '10.0.0.1', false],
  ])('%j has %s: %s', (networks, address, expected) => {
    expect(isAllowedFrom({ networks: new NetworkList(networks) }, address)).toBe(expected);
  });

  it('a key without networks may be used from anywhere', () => {
    expect(isAllowedFrom({}, 'unknown')).toBe(true);
  });
});
