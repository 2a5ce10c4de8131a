import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { api } from '../../src/api.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { TestGateway } from './gateway.ts';
import { createUnlimitedKey, type ServerProcess, startServer } from './process.ts';

/** The built program with an empty embedded store, which tests read and write beside it as commands do. */
export interface Program {
  gateway: Pick<TestGateway, 'url' | 'key' | 'store'>;
}

/** Starts the built program for the tests of this `describe`, and stops it afterwards. */
export function useProgram(): Program {
  const program = {} as Program;
  const home = mkdtempSync(join(tmpdir(), 'petstore-program-'));
  const file = join(home, 'petstore.db');
  let server: ServerProcess;
  beforeAll(async () => {
    const settings = { DATA_FILE: file, SAMPLE_DATA: 'off', LOG_LEVEL: 'error' };
    server = await startServer(settings);
    const key = await createUnlimitedKey(settings);
    const store = openSqliteStore({ records: api.records, file, role: 'tool' });
    program.gateway = { url: server.url, key, store };
  });
  afterAll(async () => {
    await program.gateway?.store.close();
    server?.child.kill('SIGTERM');
    await server?.exited;
    rmSync(home, { recursive: true });
  });
  return program;
}
