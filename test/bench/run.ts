import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { machine, median, memoryOf, numbersOf, removeData, temporaryFolder, withServer } from './harness.ts';
import { load } from './load.ts';
import { fillFile, seed } from './seed.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run bench [-- --pets 10000 --rounds 3 --seconds 4]`: requests per second of the built gateway with everything
 * enabled on the embedded store, each on a new copy of the same data, as a table and as JSON.
 */
const { pets, rounds, seconds, connections } = numbersOf({
  pets: [10_000, 1_000_000],
  rounds: [3, 10],
  seconds: [4, 30],
  connections: [32, 256],
});

const home = temporaryFolder();
console.error(`seeding ${pets} pets`);
const key = await fillFile(join(home, 'seed.db'), (store) => seed(store, pets));

const samples = new Map<string, number[]>(WORKLOADS.map(({ name }) => [name, []]));
const startMs: number[] = [];
const memoryMB: number[] = [];
for (let round = 1; round <= rounds; round++) {
  const file = join(home, 'run.db');
  removeData(file);
  copyFileSync(join(home, 'seed.db'), file);
  const began = performance.now();
  await withServer({ DATA_FILE: file }, async ({ url, child }) => {
    startMs.push(performance.now() - began);
    for (const workload of WORKLOADS) {
      await load(url, workload, key, { connections, duration: 1 });
      const result = await load(url, workload, key, { connections, duration: seconds });
      samples.get(workload.name)!.push(result.responses / result.seconds);
    }
    memoryMB.push(memoryOf(child));
  });
}

const rows = WORKLOADS.map(({ name, what }) => {
  const rates = samples.get(name)!;
  const spread = (Math.max(...rates) - Math.min(...rates)) / median(rates);
  return { name, what, perSecond: Math.round(median(rates)), spread: Number(spread.toFixed(2)) };
});
console.log(`\n${pets} pets, ${rounds} rounds of ${seconds} s, ${connections} connections, ${machine()}\n`);
console.log('| workload | description | requests/s | spread |\n|---|---|--:|--:|');
for (const { name, what, perSecond, spread } of rows)
  console.log(`| ${name} | ${what} | ${perSecond} | ${Math.round(spread * 100)}% |`);
const [ready, memory] = [startMs, memoryMB].map((all) => Math.round(median(all)));
console.log(`\nready ${ready} ms after the start, ${memory} MB of memory after the run\n`);
console.log(JSON.stringify({ pets, rounds, seconds, connections, rows, startMs: ready, memoryMB: memory }));
