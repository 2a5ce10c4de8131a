import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { type DocumentNode, parse } from 'graphql';
import { Environment, fetchQuery, Network, type OperationType, RecordSource, Store } from 'relay-runtime';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RECORDS } from '../../src/domains/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { Clock, TestGateway } from '../kit/gateway.ts';
import { type Kit, makeWorld } from '../kit/petstore.ts';
import { runCommand } from '../kit/process.ts';
import { apolloClientOf, hashOf, run, urqlClientOf } from './trusted-clients.ts';
import { Rename, Screen } from './trusted-documents/screens.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'manifests-'));
const clients = createRequire(import.meta.url);
const SDL = join(root, 'schema/schema.graphql');

/** Apollo's tool, which finds documents in sources. */
async function apolloManifest(): Promise<string> {
  cpSync(join(root, 'test/clients/trusted-documents/screens.ts'), join(home, 'screens.ts'));
  const settings = { documents: ['screens.ts'], output: 'apollo.json' };
  writeFileSync(join(home, 'persisted-query-manifest.config.json'), JSON.stringify(settings));
  const tool = dirname(clients.resolve('@apollo/generate-persisted-query-manifest/package.json'));
  const { bin } = clients(join(tool, 'package.json'));
  await promisify(execFile)(process.execPath, [join(tool, Object.values<string>(bin)[0]!)], { cwd: home });
  return join(home, 'apollo.json');
}

/** The client preset of GraphQL Code Generator. */
async function presetManifest(): Promise<string> {
  const folder = join(root, 'test/clients/trusted-documents');
  const args = [join(folder, 'client-preset.mjs'), SDL, join(folder, 'screens.ts'), home];
  await promisify(execFile)(process.execPath, args);
  return join(home, 'persisted-documents.json');
}

/** Relay's compiler with `persistConfig`. */
async function relayManifest(): Promise<string> {
  for (const folder of ['src', 'artifacts']) mkdirSync(join(home, folder));
  cpSync(join(root, 'test/clients/relay/screens.js'), join(home, 'src/screens.js'));
  cpSync(SDL, join(home, 'schema.graphql'));
  const config = JSON.parse(readFileSync(join(root, 'test/clients/relay/relay.config.json'), 'utf8'));
  const persistConfig = { file: './relay.json', algorithm: 'SHA256' };
  writeFileSync(join(home, 'relay.config.json'), JSON.stringify({ ...config, persistConfig }));
  writeFileSync(join(home, 'relay.json'), '{}');
  writeFileSync(join(home, 'package.json'), '{"type":"module"}');
  const compiler = join(dirname(clients.resolve('relay-compiler')), 'cli.js');
  await promisify(execFile)(process.execPath, [compiler], { cwd: home });
  return join(home, 'relay.json');
}

describe('manifests that tools write, and clients that send their ids', () => {
  const DATA_FILE = join(home, 'petstore.db');
  const push = (list: string, manifest: string) =>
    runCommand('documents', { DATA_FILE }, 'push', list, manifest, '--json');
  /** The file of each list. */
  const manifests: Record<string, string> = {};
  const fetched = vi.spyOn(globalThis, 'fetch');
  let gateway: TestGateway;
  let ids: { C: string; P: string };

  beforeAll(async () => {
    await Promise.all(
      Object.entries({ apollo: apolloManifest, preset: presetManifest, relay: relayManifest }).map(
        async ([list, make]) => {
          manifests[list] = await make();
        },
      ),
    );
    const store = openSqliteStore({ records: RECORDS, file: DATA_FILE, role: 'server' });
    gateway = await TestGateway.start(store, {}, new Clock());
    ids = await makeWorld({ gateway } as Kit);
    for (const [list, manifest] of Object.entries(manifests)) {
      const { code, stderr, stdout } = await push(list, manifest);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const content = JSON.parse(readFileSync(manifest, 'utf8'));
      const expected = content.operations?.map(({ id }: { id: string }) => id) ?? Object.keys(content);
      expect(expected.length).toBeGreaterThan(1);
      expect(JSON.parse(stdout).documents.map(({ id }: { id: string }) => id)).toEqual(expected);
    }
  }, 60_000);
  afterAll(async () => {
    fetched.mockRestore();
    await gateway?.close();
    await gateway?.store.close();
    rmSync(home, { recursive: true });
  });

  const screen = (name: string) => ({
    category: { id: ids.C, pets: { nodes: [{ id: ids.P, name }, { name: 'Fifi' }] } },
  });
  /** No client sends a text, which the key could not run if it were not that of its list. */
  const expectNoTexts = () => {
    for (const [url, init] of fetched.mock.calls) {
      expect(decodeURIComponent(String(url))).not.toContain('query=');
      expect(String(init?.body ?? '')).not.toContain('"query"');
    }
    fetched.mockClear();
  };

  it("Apollo Client runs the documents of Apollo's manifest", async () => {
    const key = await gateway.restrictedKey({ documents: 'apollo' });
    const client = apolloClientOf(gateway.url, key, JSON.parse(readFileSync(manifests.apollo!, 'utf8')));
    const rename = { mutation: Rename, variables: { id: ids.P, name: 'Max' } };
    expect((await client.mutate(rename)).data).toMatchObject({ updatePet: { name: 'Max' } });
    const { data } = await client.query({ query: Screen, variables: { id: ids.C } });
    expect(data).toMatchObject(screen('Max'));
    expectNoTexts();
    const other = parse('query Other { pets { totalCount } }');
    await expect(client.query({ query: other })).rejects.toThrow('Operation Other not found in manifest');
  });

  it('urql and fetch run the documents of the client preset', async () => {
    const key = await gateway.restrictedKey({ documents: 'preset' });
    const { ScreenDocument, RenameDocument } = (await import(
      pathToFileURL(join(home, 'graphql.ts')).href
    )) as Record<string, DocumentNode>;
    const client = urqlClientOf(gateway.url, key);
    const renamed = await client.mutation(RenameDocument!, { id: ids.P, name: 'Tom' });
    expect(renamed.error).toBeUndefined();
    const { data, error } = await client.query(ScreenDocument!, { id: ids.C });
    expect({ data, error }).toMatchObject({ data: screen('Tom'), error: undefined });
    expect(await run(gateway.url, key, hashOf(ScreenDocument!), { id: ids.C })).toMatchObject(screen('Tom'));
    expectNoTexts();
    const unknown = run(gateway.url, key, `sha256:${'0'.repeat(64)}`, { id: ids.C });
    await expect(unknown).rejects.toThrow('PersistedQueryNotFound');
  });

  it('Relay runs the documents of its compiler', async () => {
    const key = await gateway.restrictedKey({ documents: 'relay' });
    const environment = new Environment({
      store: new Store(new RecordSource()),
      getDataID: (record) => record.nodeId,
      network: Network.create(async ({ id }, variables) => ({
        data: await run(gateway.url, key, id!, variables),
      })),
    });
    const artifact = join(home, 'artifacts/screensRecordsQuery.graphql.js');
    const { default: query } = await import(pathToFileURL(artifact).href);
    const variables = { pet: ids.P, category: ids.C, order: '1' };
    const read = fetchQuery<OperationType>(environment, query, variables).toPromise();
    expect(await read).toMatchObject({ pet: { id: ids.P }, category: { id: ids.C } });
    expectNoTexts();
  });
});
