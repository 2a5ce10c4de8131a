import { api } from '../../src/api.ts';
import { expect, it } from 'vitest';

it('names each scope once, and none for writing what can only be read', () => {
  const written = ['pets', 'categories', 'orders', 'inventory', 'webhooks'];
  const scopes = written.flatMap((name) => [`${name}:read`, `${name}:write`]);
  expect(api.scopes).toEqual(expect.arrayContaining(['*:read', 'events:read', ...scopes]));
  expect(new Set(api.scopes).size).toBe(api.scopes.length);
  expect(api.scopes).not.toContain('events:write');
});
