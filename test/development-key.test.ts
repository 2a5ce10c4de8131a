import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { newApiKey, generateKey } from '../src/access/api-keys.ts';
import { developmentKey, keyFileOf } from '../src/development-key.ts';
import { temporaryFolder } from './kit/folder.ts';
import { onAnyEngine } from './kit/petstore.ts';

const home = temporaryFolder();

onAnyEngine('the development key', (kit) => {
  let file: string;
  beforeEach(() => {
    file = keyFileOf(join(mkdtempSync(join(home, 'store-')), 'data', 'petstore.db'));
  });
  const ofStore = () => developmentKey(kit.gateway.store, file, Date.now());
  const statusOf = async (key: string) => (await kit.gateway.call('/pets', { key })).status;
  const living = async () => (await kit.gateway.store.apiKeys()).filter(({ kind }) => kind === 'development');

  it.runIf(process.platform !== 'win32')(
    'is readable by its owner alone, also in a file that was not',
    async () => {
      const mode = () => statSync(file).mode & 0o777;
      const key = await ofStore();
      expect(mode()).toBe(0o600);
      chmodSync(file, 0o644);
      expect(await ofStore()).toBe(key);
      expect(mode()).toBe(0o600);
      writeFileSync(file, '');
      chmodSync(file, 0o644);
      expect(await ofStore()).not.toBe(key);
      expect(mode()).toBe(0o600);
    },
  );

  it('is one key, however often it is asked for, also if its file is lost or the store is new', async () => {
    const key = await ofStore();
    expect(await Promise.all([ofStore(), ofStore()])).toEqual([key, key]);
    rmSync(file);
    const renewed = await ofStore();
    expect(renewed).not.toBe(key);
    expect(await living()).toHaveLength(1);
    const { secret } = generateKey();
    await kit.gateway.store.rotateApiKey((await living())[0]!.id, secret, Date.now());
    expect(await statusOf(await ofStore())).toBe(200);
  });

  it('is replaced after it was revoked', async () => {
    const key = await ofStore();
    for (const { id } of await living()) await kit.gateway.store.revokeApiKey(id, Date.now());
    const other = await ofStore();
    expect([await statusOf(key), await statusOf(other)]).toEqual([401, 200]);
    expect(readFileSync(file, 'utf8')).toBe(`${other}\n`);
  });

  it('is never an ordinary key, whatever its name or its file says', async () => {
    const { store } = kit.gateway;
    const { key, apiKey } = newApiKey({ name: 'development', plan: 'free', now: Date.now() });
    await store.createApiKey(apiKey);
    await ofStore();
    writeFileSync(file, key);
    expect(await ofStore()).not.toBe(key);
    expect(await store.apiKeyById(apiKey.id)).toEqual(apiKey);
  });
});
