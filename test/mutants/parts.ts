/** Sources that are mutated together, and the tests that should detect the mutants. */
export interface Part {
  /** Globs of sources, in Stryker's syntax. */
  sources: string[];
  /** Globs of test files. */
  tests: string[];
  /** The test files that detect the most mutants, to be run first. */
  first?: string[];
}

export const PARTS: Record<string, Part> = {
  access: {
    sources: ['src/access/**/*.ts'],
    tests: [
      'test/access/**/*.test.ts',
      'test/domains/{usage,api-key}/**/*.test.ts',
      'test/transports/{streams,rest/live}.test.ts',
    ],
  },
  domains: {
    sources: ['src/domains/**/*.ts'],
    first: ['test/execution/schema.test.ts', 'test/openapi/openapi.test.ts', 'test/sample.test.ts'],
    tests: [
      'test/domains/**/*.test.ts',
      'test/transports/rest/**/*.test.ts',
      'test/schema/*.test.ts',
      'test/execution/{mutation,schema}.test.ts',
      'test/openapi/**/*.test.ts',
      'test/store/{contract,events}.test.ts',
      'test/sample.test.ts',
    ],
  },
  execution: {
    sources: ['src/execution/**/*.ts'],
    tests: [
      'test/execution/**/*.test.ts',
      'test/transports/graphql/**/*.test.ts',
      'test/faults/many-issues.test.ts',
    ],
  },
  transports: {
    sources: ['src/transports/**/*.ts', '!src/transports/pages/explorer/**'],
    tests: ['test/transports/**/*.test.ts', 'test/http/**/*.test.ts'],
  },
  sqlite: {
    // integrity.ts starts processes and is tested with real ones, where mutants are not active.
    sources: ['src/store/sqlite/**/*.ts', '!src/store/sqlite/integrity.ts'],
    tests: ['test/store/**/*.test.ts'],
  },
};

/** Names of tests that necessarily take seconds and would run for most mutants. */
export const SLOW = new Set([
  'keeps each acknowledged write and exactly one event of it, whenever the process is killed',
  'cuts off a client that does not read, and no other',
  'disconnects only the reader that falls far behind',
  'delivers each acknowledged write of 16 REST and GraphQL writers once, in order per record',
  'limits heap growth to 60 MB over thousands of different documents',
  'does not keep documents that are used once',
  'responds to Expect: 100-continue with the refusal instead of asking for the body',
]);
