import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Begins with the tests of other programs, commands and outages: they mostly wait, and would otherwise run alone at the end. */
class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLater = ({ moduleId }: TestSpecification) =>
      Number(!/\/(cli|clients|faults|mongo|webhooks)\/|\/(main|image|readme)\./.test(moduleId));
    return sorted.toSorted((a, b) => isLater(a) - isLater(b));
  }
}

export default defineConfig({
  // Resolve graphql as Node does. Its `module` field would load a second copy in addition to the one used by Pothos.
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
    // Sources that have not changed are compiled once, not in each run: a fifth of the time of one file by itself.
    experimental: { fsModuleCache: true },
    // Leaks of a file stay in its worker for the next ones. Fails before the machine is short of memory.
    execArgv: ['--max-old-space-size=2048'],
    // Twice what a small machine has processors: tests also wait for deadlines and other programs. With three, a seventh
    // of the processors' time was idle; each worker takes seconds to import what is tested.
    maxWorkers: 4,
    sequence: { sequencer: WaitingFirst },
    // Ends hanging tests. It says nothing about speed, since other programs may occupy the processors.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 10_000 } },
    // Ignores late errors of abandoned fields, as the server does (src/main.ts).
    onUnhandledError: ({ name }) => name !== 'GraphQLError',
  },
});
