import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { cases } from '../kit/cases.ts';
import { runKeys, type ServerProcess, startServer } from '../kit/process.ts';

const home = mkdtempSync(join(tmpdir(), 'petstore-'));
const settings = { DATA_FILE: join(home, 'petstore.db'), LOG_LEVEL: 'warn' };
let server: ServerProcess | undefined;
afterAll(async () => {
  server?.child.kill('SIGKILL');
  await server?.exited;
  rmSync(home, { recursive: true });
});

interface Stored {
  first: { name: string };
  second: { name: string };
  pets: { nodes: { id: string; name: string }[]; pageInfo: { hasNextPage: boolean; endCursor: string } };
}

const MUTATION = `mutation ($name: String!) {
  a: updatePet(id: 1, input: {name: $name}) { name }
  b: createPet(input: {name: $name, categoryId: 1}) { id }
  c: createPet(input: {name: $name, categoryId: 2}) { id }
  d: updatePet(id: 2, input: {name: $name}) { name }
}`;
const STORED = `query ($c: ID!, $after: String) {
  first: pet(id: 1) { name }
  second: pet(id: 2) { name }
  pets(filter: {categoryId: $c}, first: 100, after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } }
}`;

it('writes all fields of a mutation or none, even when killed with SIGKILL', async () => {
  server = await startServer(settings);
  const made = await runKeys(
    settings,
    'create',
    '--name',
    'k',
    '--plan',
    'enterprise',
    '--per-minute',
    '1000000',
    '--per-day',
    '1000000',
    '--json',
  );
  const { key } = JSON.parse(made.stdout) as { key: string };
  const post = async (query: string, variables: object) => {
    const response = await fetch(`${server!.url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables }),
    });
    return (await response.json()) as { data?: Stored };
  };
  const namesIn = async (categoryId: string) => {
    const names: string[] = [];
    let after: string | null = null;
    for (;;) {
      const { data }: { data?: Stored } = await post(STORED, { c: categoryId, after });
      const { nodes, pageInfo } = data!.pets;
      names.push(
        ...nodes.filter(({ id, name }) => Number(id) > 2 && name.startsWith('op ')).map(({ name }) => name),
      );
      if (!pageInfo.hasNextPage) return { names: names.sort(), data: data! };
      after = pageInfo.endCursor;
    }
  };

  let serial = 0;
  const acknowledged = new Set<string>();
  for (let round = 1; round <= cases(1, 4); round++) {
    const killed = { yet: false };
    const writers = Array.from({ length: 4 }, async () => {
      while (!killed.yet) {
        const name = `op ${++serial}`;
        const result = await post(MUTATION, { name }).catch(() => undefined);
        if (result?.data) acknowledged.add(name);
      }
    });
    const target = acknowledged.size + 25 * round;
    while (acknowledged.size < target) await new Promise((resolve) => setImmediate(resolve));
    server.child.kill('SIGKILL');
    killed.yet = true;
    await Promise.all([...writers, server.exited]);
    server = await startServer(settings);
    const first = await namesIn('1');
    const second = await namesIn('2');
    expect(first.names).toEqual(second.names);
    expect(new Set(first.names).size).toBe(first.names.length);
    expect(first.data.first.name).toBe(first.data.second.name);
    for (const name of acknowledged) expect(first.names).toContain(name);
  }
}, 120_000);
