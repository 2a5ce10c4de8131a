import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that wait for browsers, programs and deadlines, which others can use the processors beside. */
const WAITING = /test\/(transports\/pages\/|faults\/|cli\/|clients\/|observability\/|[^/]+$)/;

/** Begins with the tests that wait, so that none of them is left alone at the end. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const waits = ({ moduleId }: TestSpecification) => Number(!WAITING.test(moduleId));
    return sorted.toSorted((a, b) => waits(a) - waits(b));
  }
}

export default defineConfig({
  // Resolve graphql as Node does. Its `module` field would load a second copy beside the one used by Pothos.
  resolve: {
    alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/kit/bundle.ts', 'test/kit/mongo.ts'],
    // libsql's native module requires processes instead of worker threads.
    pool: 'forks',
    // Modules are loaded once a worker, not once a file: that would take a sixth of all processor time.
    isolate: false,
    // What a file leaves in its worker is there for the next ones. Fails before the machine is short of memory.
    execArgv: ['--max-old-space-size=2048'],
    // Twice what a small machine has processors: tests also wait for databases, browsers, servers and deadlines.
    maxWorkers: 4,
    sequence: { sequencer: WaitingFirst },
    // Ends what hangs. It says nothing about speed, since other programs may have the processors.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    // Ignores late errors of abandoned fields, as the server does (src/main.ts).
    onUnhandledError: ({ name }) => name !== 'GraphQLError',
  },
});
