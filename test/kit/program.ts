import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { api } from '../../src/api.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from './folder.ts';
import type { TestGateway } from './gateway.ts';
import { createUnlimitedKey, useServer } from './process.ts';

/** The built program with an empty embedded store, which tests read and write beside it as commands do. */
export interface Program {
  gateway: Pick<TestGateway, 'url' | 'key' | 'store'>;
}

/** Starts the built program for the tests of this `describe`, and stops it afterwards. */
export function useProgram(): Program {
  const program = {} as Program;
  const file = join(temporaryFolder(), 'petstore.db');
  const settings = { DATA_FILE: file, SAMPLE_DATA: 'off', LOG_LEVEL: 'error' };
  const server = useServer(settings);
  beforeAll(async () => {
    const key = await createUnlimitedKey(settings);
    const store = openSqliteStore({ records: api.records, file, role: 'tool' });
    program.gateway = { url: server.url, key, store };
  });
  afterAll(() => program.gateway?.store.close());
  return program;
}
