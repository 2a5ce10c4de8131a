import { mergeConfig } from 'vitest/config';
import type { TestProject } from 'vitest/node';
import base from '../../vitest.config.ts';
import { loading } from './loading.ts';
import { PARTS } from './parts.ts';
import { pool } from './pool.ts';
import { QuickFirst } from './sequencer.ts';

const { tests } = PARTS[process.env.MUTANTS_OF ?? 'access']!;

/** The tests that Stryker runs: those within one process on the embedded engine, because mutants are not active elsewhere. */
const config = mergeConfig(base, {
  plugins: [
    {
      name: 'processes',
      // Stryker configures worker threads, which libsql's native module does not support.
      configureVitest: ({ project: { config } }: { project: TestProject }) => {
        config.pool = pool.name;
        config.poolRunner = pool;
      },
    },
  ],
  test: {
    setupFiles: ['test/mutants/setup.ts'],
    reporters: ['default', loading],
    sequence: { sequencer: QuickFirst },
    testTimeout: 8_000,
  },
});
config.test.include = tests;
config.test.exclude = [
  '**/node_modules/**',
  'test/transports/pages/{accessibility,console,docs,graphiql,landing}.test.ts',
  'test/store/sqlite/data-file.test.ts',
  'test/store/mongo/**',
];
config.test.globalSetup = ['test/kit/bundle.ts'];

export default config;
