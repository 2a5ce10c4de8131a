import { expect, it } from 'vitest';
import { SCOPES } from '../../src/domains/routes.ts';

it('names each scope once, and none for writing what can only be read', () => {
  const written = ['pets', 'categories', 'orders', 'inventory', 'webhooks'];
  const scopes = written.flatMap((name) => [`${name}:read`, `${name}:write`]);
  expect(SCOPES).toEqual(expect.arrayContaining(['*:read', 'events:read', ...scopes]));
  expect(new Set(SCOPES).size).toBe(SCOPES.length);
  expect(SCOPES).not.toContain('events:write');
});
