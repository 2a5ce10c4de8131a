import { createRequire } from 'node:module';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // As node does: graphql's `module` field would give the tests a second copy of it beside the one of Pothos.
  resolve: {
    alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }],
  },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/kit/build.ts', 'test/kit/bundle.ts', 'test/kit/mongo.ts'],
    // libsql's native part wants processes, not worker threads.
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    // As the server does: errors of fields that graphql-js has abandoned (src/main.ts).
    onUnhandledError: ({ name }) => name !== 'GraphQLError',
  },
});
