import { describe, expect, it } from 'vitest';
import { impliedScopes, permits, requireScopes } from '../../src/access/scopes.ts';

const holder = (...scopes: string[]) => ({ scopes: impliedScopes(scopes) });

describe('scopes', () => {
  it.each<[string[], string, boolean]>([
    [['pets:read'], 'pets:read', true],
    [['pets:read'], 'pets:write', false],
    [['pets:read'], 'orders:read', false],
    [['pets:write'], 'pets:read', true],
    [['pets:write'], 'pets:write', true],
    [['pets:write'], 'orders:read', false],
    [['*:read'], 'orders:read', true],
    [['*:read'], 'orders:write', false],
    [['*:read', 'pets:write'], 'pets:write', true],
    [[], 'pets:read', false],
  ])('%j permits %s: %s', (scopes, scope, expected) => {
    expect(permits(holder(...scopes), scope)).toBe(expected);
  });

  it('permits everything without scopes, and what needs none with any', () => {
    expect(permits({}, 'pets:write')).toBe(true);
    expect(permits(holder(), undefined)).toBe(true);
  });

  it('names all that are missing', () => {
    const check = (...scopes: string[]) => requireScopes(holder('pets:read'), scopes);
    expect(() => check('pets:read')).not.toThrow();
    expect(() => check('orders:read')).toThrow('The API key lacks the scope orders:read.');
    expect(() => check('orders:read', 'pets:read', 'pets:write')).toThrow(
      'The API key lacks the scopes orders:read, pets:write.',
    );
  });
});
