import { mkdirSync } from 'node:fs';
import { argv, env, exit } from 'node:process';
import { Stryker } from '@stryker-mutator/core';
import { PARTS } from './parts.ts';

/**
 * Mutation testing: `npm run mutants` changes the sources one place at a time and looks whether a test notices;
 * `npm run mutants -- access sqlite` does that for these parts only, `access:src/access/usage.ts` for one file of a part.
 * A mutant takes 0.4 to 3 s of processor time; what neither the sources nor the tests of a mutant changed is remembered in `reports/`.
 * Ends with the share that was noticed, by part and file, and with 1 if that of a part is below 85 %.
 */
const ENOUGH = 85;
const concurrency = Number(env.MUTANTS_CONCURRENCY ?? 2);
// Properties are shown fewer cases: there is a run for each mutant.
const RUNS = { PROPERTY_RUNS: '10', DIFFERENTIAL_RUNS: '30', FUZZ_RUNS: '10', KILL_ROUNDS: '1' };
for (const [name, value] of Object.entries(RUNS)) env[name] ??= value;
mkdirSync('reports/mutants', { recursive: true });

interface Count {
  noticed: number;
  total: number;
}

const wanted = argv.length > 2 ? argv.slice(2) : Object.keys(PARTS);
const table: string[] = [];
let isEnough = true;
for (const one of wanted) {
  const [name, file] = one.split(':') as [string, string?];
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
    // None: Stryker would move its paths by the compiler's interface, which TypeScript 7 has not; it has none to move.
    tsconfigFile: 'none',
    tempDirName: 'reports/mutants/sandbox',
    ignorePatterns: ['/reports', '/data'],
    allowConsoleColors: false,
  }).runMutationTest();

  const whole: Count = { noticed: 0, total: 0 };
  const byFile = new Map<string, Count>();
  for (const { fileName, status } of results) {
    if (status === 'Ignored' || status === 'CompileError') continue;
    const path = fileName.slice(fileName.lastIndexOf('/src/') + 1);
    const own = byFile.get(path) ?? { noticed: 0, total: 0 };
    byFile.set(path, own);
    for (const count of [whole, own]) {
      count.total += 1;
      if (status === 'Killed' || status === 'Timeout') count.noticed += 1;
    }
  }
  table.push(line(one, whole), ...[...byFile].toSorted().map(([path, count]) => line(`  ${path}`, count)));
  if (scoreOf(whole) < ENOUGH) isEnough = false;
}
console.log(['', 'Mutants noticed, of all', ...table].join('\n'));
exit(isEnough ? 0 : 1);

function scoreOf({ noticed, total }: Count): number {
  return total === 0 ? 100 : (100 * noticed) / total;
}

function line(name: string, count: Count): string {
  const { noticed, total } = count;
  return `${name.padEnd(48)} ${scoreOf(count).toFixed(1).padStart(5)} %  ${String(noticed).padStart(4)} of ${total}`;
}
