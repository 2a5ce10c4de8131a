import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { commitMutation, createOperationDescriptor, fetchQuery, getSingularSelector } from 'relay-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeWorld, sqlite, useGateway } from '../kit/petstore.ts';
import { relayEnvironment } from './relay-environment.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const home = mkdtempSync(join(tmpdir(), 'relay-'));
const compiler = join(dirname(createRequire(import.meta.url).resolve('relay-compiler')), 'cli.js');

beforeAll(async () => {
  mkdirSync(join(home, 'src'));
  mkdirSync(join(home, 'artifacts'));
  cpSync(join(root, 'test/clients/relay/screens.js'), join(home, 'src/screens.js'));
  cpSync(join(root, 'schema/schema.graphql'), join(home, 'schema.graphql'));
  writeFileSync(join(home, 'package.json'), '{"type":"module"}');
  cpSync(join(root, 'test/clients/relay/relay.config.json'), join(home, 'relay.config.json'));
  symlinkSync(join(root, 'test/clients/node_modules'), join(home, 'node_modules'));
  await promisify(execFile)(process.execPath, [compiler], { cwd: home });
}, 60_000);
afterAll(() => rmSync(home, { recursive: true }));

const artifact = async (name: string) =>
  (await import(pathToFileURL(join(home, 'artifacts', `${name}.graphql.js`)).href)).default;

describe('Relay', () => {
  const kit = useGateway(sqlite);

  it('stores pet 1, category 1 and order 1 as separate records and updates one after a mutation', async () => {
    await makeWorld(kit);
    const environment = relayEnvironment(kit.gateway.url, kit.gateway.key);
    const records = await artifact('screensRecordsQuery');
    const variables = { pet: '1', category: '1', order: '1' };
    await fetchQuery(environment, records, variables).toPromise();
    const shown = () => environment.lookup(createOperationDescriptor(records, variables).fragment).data;
    expect(shown()).toMatchObject({
      pet: { id: '1', name: 'Rex', inventory: { id: '1', quantity: 5 } },
      category: { id: '1', name: 'Dogs' },
      order: { id: '1', complete: false },
    });
    environment.retain(createOperationDescriptor(records, variables));
    const mutation = await artifact('screensRenameMutation');
    await new Promise<void>((resolve, reject) => {
      commitMutation(environment, {
        mutation,
        variables: { id: '1', name: 'Max' },
        onCompleted: () => resolve(),
        onError: reject,
      });
    });
    expect(shown()).toMatchObject({ pet: { name: 'Max' }, category: { name: 'Dogs' } });
  });

  it('pages through root connections and those of a category', async () => {
    const { C } = await makeWorld(kit);
    const environment = relayEnvironment(kit.gateway.url, kit.gateway.key);
    const categories = await artifact('screensCategoriesQuery');
    const pets = await artifact('screensPets');
    const pagination = await artifact('screensPetsPaginationQuery');
    const after = String(BigInt(C) - 1n);
    await fetchQuery(environment, categories, { count: 1, cursor: after }).toPromise();
    const operation = createOperationDescriptor(categories, { count: 1, cursor: after });
    environment.retain(operation);
    // biome-ignore lint/suspicious/noExplicitAny: artifacts without types
    const { data } = environment.lookup(operation.fragment) as any;
    const [{ node }] = data.categories.edges;
    expect(node.name).toBe('Dogs');
    const shown = () => {
      const found = environment.lookup(getSingularSelector(pets, node)!);
      // biome-ignore lint/suspicious/noExplicitAny: artifacts without types
      return (found.data as any).pets;
    };
    expect(shown().edges.map(({ node }: { node: { name: string } }) => node.name)).toEqual(['Rex']);
    const { endCursor, hasNextPage } = shown().pageInfo;
    expect(hasNextPage).toBe(true);
    // Like usePaginationFragment, requests the next page by the nodeId that the compiler adds.
    const { identifierField, identifierQueryVariableName } = pets.metadata.refetch.identifierInfo;
    const { data: category } = environment.lookup(getSingularSelector(pets, node)!);
    const next = {
      [identifierQueryVariableName]: (category as Record<string, unknown>)[identifierField],
      count: 5,
      cursor: endCursor,
    };
    await fetchQuery(environment, pagination, next).toPromise();
    expect(shown().edges.map(({ node }: { node: { name: string } }) => node.name)).toEqual(['Rex', 'Fifi']);
  });
});
