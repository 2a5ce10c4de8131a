import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { hashOf, isWellFormed, newApiKey, generateKey } from './access/api-keys.ts';
import type { ApiKey } from './store/stored-api-keys.ts';
import { makePrivate } from './store/sqlite/data-file.ts';
import type { Store } from './store/store.ts';

/** The file with the development key, next to the data file. */
export const keyFileOf = (dataFile: string): string => `${dataFile}.key`;

/** Reads the key in a file, or creates and keeps one. */
export function keptKey(file: string): string {
  if (!existsSync(file)) return keep(file);
  makePrivate(file);
  const kept = readFileSync(file, 'utf8').trim();
  return isWellFormed(kept) ? kept : keep(file);
}

/** Writes a new key to a file that only its owner may read. */
function keep(file: string): string {
  const { key } = generateKey();
  mkdirSync(dirname(file), { recursive: true });
  makePrivate(file);
  writeFileSync(file, `${key}\n`);
  return key;
}

/**
 * Adds the key in a file to the store as a development key, which is kept over restarts and refused in production. A
 * revoked or expired key is replaced.
 *
 * @param now milliseconds since 1970
 * @returns the key
 * @throws UNAVAILABLE
 */
export async function developmentKey(store: Store, file: string, now: number): Promise<string> {
  const kept = keptKey(file);
  const hash = hashOf(kept);
  const stored = await store.apiKeyBySecretHash(hash);
  const { kind, secrets = [], revokedAt, expiresAt = Infinity }: Partial<ApiKey> = stored ?? {};
  const isCurrent = secrets.some((secret) => secret.hash === hash && secret.expiresAt === undefined);
  if (kind === 'development' && isCurrent && revokedAt === undefined && now < expiresAt) return kept;
  const key = stored ? keep(file) : kept;
  const name = `development on ${hostname()}`;
  const { apiKey } = newApiKey({ name, plan: 'business', kind: 'development', now }, key);
  // Replaces a key whose file was lost, so that there is only one.
  await store.createApiKey({ ...apiKey, id: `key_${hashOf(name).slice(0, 12)}` });
  return key;
}
