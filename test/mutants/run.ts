import { mkdirSync } from 'node:fs';
import { argv, env, exit } from 'node:process';
import { PARTS } from './parts.ts';

/**
 * Mutation testing: `npm run mutants` changes the sources one place at a time and checks whether a test detects it.
 * `npm run mutants -- access sqlite` does so for these parts only, `access:src/access/limiter.ts` for one file of a part.
 * A mutant takes 0.4 to 3 s of CPU time. Results are kept in `reports/` and reused while neither the source nor the tests
 * of a mutant change. Prints the share of detected mutants by part and file, and exits with 1 if that of a part is below
 * 85 %.
 */
const MIN_SCORE = 85;
const concurrency = Number(env.MUTANTS_CONCURRENCY ?? 2);
// Fewer cases per property, because there is a run for each mutant.
const RUNS = { PROPERTY_RUNS: '10', DIFFERENTIAL_RUNS: '30', FUZZ_RUNS: '10', KILL_ROUNDS: '1' };
for (const [name, value] of Object.entries(RUNS)) env[name] ??= value;
mkdirSync('reports/mutants', { recursive: true });

/** Stryker's API, which is installed by `npm run mutants` alone. */
interface StrykerModule {
  Stryker: new (
    options: object,
  ) => {
    runMutationTest(): Promise<{ fileName: string; status: string }[]>;
  };
}
const stryker = '@stryker-mutator/core';
const { Stryker } = (await import(stryker)) as StrykerModule;

interface Count {
  detected: number;
  all: number;
}

const selected = argv.length > 2 ? argv.slice(2) : Object.keys(PARTS);
const table: string[] = [];
let passed = true;
for (const argument of selected) {
  const [name, file] = argument.split(':') as [string, string?];
  const part = PARTS[name];
  if (!part) throw new Error(`There is no part ${name}; there are ${Object.keys(PARTS).join(', ')}.`);
  env.MUTANTS_OF = name;
  const results = await new Stryker({
    mutate: file === undefined ? part.sources : [file],
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/mutants/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    concurrency,
    timeoutMS: 15_000,
    timeoutFactor: 2,
    incremental: true,
    incrementalFile: `reports/mutants/${name}.json`,
    reporters: ['clear-text', 'html', 'progress-append-only'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: false },
    htmlReporter: { fileName: `reports/mutants/${name}.html` },
    // None, because Stryker would adjust its paths through the compiler API, which TypeScript 7 lacks. There are none.
    tsconfigFile: 'none',
    tempDirName: 'reports/mutants/sandbox',
    ignorePatterns: ['/reports', '/data'],
    allowConsoleColors: false,
  }).runMutationTest();

  const total: Count = { detected: 0, all: 0 };
  const byFile = new Map<string, Count>();
  for (const { fileName, status } of results) {
    if (status === 'Ignored' || status === 'CompileError') continue;
    const path = fileName.slice(fileName.lastIndexOf('/src/') + 1);
    const own = byFile.get(path) ?? { detected: 0, all: 0 };
    byFile.set(path, own);
    for (const count of [total, own]) {
      count.all += 1;
      if (status === 'Killed' || status === 'Timeout') count.detected += 1;
    }
  }
  table.push(
    line(argument, total),
    ...[...byFile].toSorted().map(([path, count]) => line(`  ${path}`, count)),
  );
  if (scoreOf(total) < MIN_SCORE) passed = false;
}
console.log(['', 'Detected mutants', ...table].join('\n'));
exit(passed ? 0 : 1);

function scoreOf({ detected, all }: Count): number {
  return all === 0 ? 100 : (100 * detected) / all;
}

function line(name: string, count: Count): string {
  const { detected, all } = count;
  return `${name.padEnd(48)} ${scoreOf(count).toFixed(1).padStart(5)} %  ${String(detected).padStart(4)} of ${all}`;
}
