import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Category } from '../../src/domains/category/category.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { sqlite, useGateway } from '../kit/petstore.ts';

/**
 * Generates a Go client from the OpenAPI description, and compiles and runs the programs that use it. The generator comes
 * from PyPI and needs Java: OPENAPI_GENERATOR is the path of its executable.
 */
const LARGEST = '9223372036854775807';
const run = promisify(execFile);
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const generator = env.OPENAPI_GENERATOR;
if (!generator && env.REQUIRE_GO_CLIENT === '1')
  throw new Error('REQUIRE_GO_CLIENT=1, but OPENAPI_GENERATOR names no generator.');

describe.runIf(generator && env.AT_LENGTH === '1')('the generated Go client', () => {
  const kit = useGateway(sqlite);
  let home: string;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'petstore-go-'));
    await cp(file('programs/go'), home, { recursive: true });
    await run(generator!, [
      ...['generate', '-g', 'go', '-i', file('../../schema/openapi.json'), '-o', join(home, 'petstore')],
      ...[
        '--package-name',
        'petstore',
        '--global-property',
        'apis,models,supportingFiles,apiTests=false,modelTests=false',
      ],
      ...['--model-name-mappings', 'NewPet=PetInput,NewCategory=CategoryInput,NewWebhook=WebhookInput'],
      ...['--additional-properties', 'withGoMod=false'],
    ]);
    // Compiles the standard library too, in half the time without optimisation.
    await run('go', ['build', '-gcflags=all=-N -l', '-ldflags=-w', '-o', 'bin/', './...'], {
      cwd: home,
      env: { ...env, CGO_ENABLED: '0', GOTOOLCHAIN: 'local' },
    });
  }, 300_000);
  afterAll(() => rm(home, { recursive: true, force: true }));

  const outputOf = async (program: string): Promise<string[]> => {
    const { stdout } = await run(join(home, 'bin', program), [kit.gateway.url, kit.gateway.key]);
    return stdout.trim().split('\n');
  };

  it('reads all pages, creates a pet once, and gets errors as values', async () => {
    const { store } = kit.gateway;
    const { id } = await store.table(Category).insert({ name: 'Dogs' });
    for (let n = 0; n < 120; n++)
      await store.table(Pet).insert({ name: `Pet ${n}`, categoryId: id, status: 'available' });
    const refusal = `NOT_FOUND There is no order ${LARGEST}.`;
    expect(await outputOf('adopt')).toEqual(['120 pets', 'Oscar is available', refusal]);
    expect(await outputOf('adopt')).toEqual(['121 pets', 'Oscar is available', refusal]);
  });
  it('has exact ids, and records in events', async () => {
    const [line] = await outputOf('round_trip');
    // Compared as text, because JavaScript numbers cannot represent the largest id.
    const order = (complete: boolean) => `{"complete":${complete},"id":${LARGEST}}`;
    expect(line).toContain(`[${order(false)},${order(true)},[{`);
    expect(line).toContain(`${order(true)}]]`);
    expect(line).toContain('"name":"Dogs"');
  });
});
