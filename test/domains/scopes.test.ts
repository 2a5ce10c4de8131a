import { expect, it } from 'vitest';
import { SCOPES } from '../../src/domains/scopes.ts';

it('names each scope once, and none for writing what can only be read', () => {
  expect([...SCOPES].sort()).toEqual([
    '*:read',
    'categories:read',
    'categories:write',
    'events:read',
    'inventory:read',
    'inventory:write',
    'orders:read',
    'orders:write',
    'pets:read',
    'pets:write',
    'webhooks:read',
    'webhooks:write',
  ]);
});
