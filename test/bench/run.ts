import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  conclude,
  cpuMilliseconds,
  expectAtMost,
  type MeasuredServer,
  machine,
  median,
  memoryOf,
  numbersOf,
  removeData,
  startServer,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { load } from './load.ts';
import { fillFile, seed } from './seed.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run bench [-- --pets 10000 --rounds 3 --seconds 4]`: compares the built gateway with everything enabled on the
 * embedded store, the same without the limiter, and a raw node:http server, on the same data and in the same run. Prints
 * median requests per second, each with its ratio to the raw server's GET of one pet, as a table and as JSON. Then prints
 * the CPU time that the event log adds to a write, and exits with 1 if it exceeds {@link MAX_LOG_RATIO}.
 */
const { pets, rounds, seconds, connections } = numbersOf({
  pets: [10_000, 1_000_000],
  rounds: [3, 10],
  seconds: [4, 30],
  connections: [32, 256],
});

const SERVERS = {
  raw: ['--import', 'tsx', 'test/bench/raw.ts'],
  unlimited: ['--import', 'tsx', 'test/bench/unlimited.ts'],
  gateway: ['dist/main.js'],
} as const;
type ServerName = keyof typeof SERVERS;
/** CPU time of a write relative to one that is not logged. */
const MAX_LOG_RATIO = 1.1;
const LOG_ROUNDS = { rounds: 20, writes: 2_500 };

const home = temporaryFolder();
console.error(`seeding ${pets} pets`);
const key = await fillFile(join(home, 'seed.db'), (store) => seed(store, pets));

const samples = new Map<string, number[]>();
const figures: { startMs: number[]; memoryMB: number[] } = { startMs: [], memoryMB: [] };
const names = Object.keys(SERVERS) as ServerName[];
for (let round = 1; round <= rounds; round++)
  for (const name of round % 2 ? names : names.toReversed()) await measure(name);
report(await costOfLog());
conclude();

/** Makes a new copy of the data. */
function freshData(name: string): string {
  const file = join(home, name);
  removeData(file);
  copyFileSync(join(home, 'seed.db'), file);
  return file;
}

async function measure(name: ServerName): Promise<void> {
  const settings = { DATA_FILE: freshData('run.db') };
  const began = performance.now();
  const work = async ({ url, child }: MeasuredServer) => {
    if (name === 'gateway') figures.startMs.push(performance.now() - began);
    for (const workload of WORKLOADS) {
      if (name === 'raw' && !workload.raw) continue;
      await load(url, workload, key, { connections, duration: 1 });
      const result = await load(url, workload, key, { connections, duration: seconds });
      const rate = result.responses / result.seconds;
      const sample = `${name} ${workload.name}`;
      samples.set(sample, [...(samples.get(sample) ?? []), rate]);
      console.error(`${sample}: ${rate.toFixed(0)}/s`);
    }
    if (name === 'gateway') figures.memoryMB.push(memoryOf(child));
  };
  await withServer(settings, work, SERVERS[name], name === 'raw' ? '/pets/1' : undefined);
}

/** Compares two servers that differ only in the log, in alternation. @returns the ratio of their CPU times per write */
async function costOfLog(): Promise<number> {
  const write = WORKLOADS.find(({ name }) => name === 'R3')!;
  const servers: MeasuredServer[] = [];
  try {
    for (const [i, program] of ['src/main.ts', 'test/bench/unlogged.ts'].entries())
      servers.push(await startServer({ DATA_FILE: freshData(`log-${i}.db`) }, ['--import', 'tsx', program]));
    const ratios: number[] = [];
    // The first round warms up the code.
    for (let round = 0; round <= LOG_ROUNDS.rounds; round++) {
      const times: [number, number] = [0, 0];
      for (const i of round % 2 ? ([0, 1] as const) : ([1, 0] as const)) {
        const { child, url } = servers[i]!;
        const before = cpuMilliseconds(child);
        await load(url, write, key, { connections, amount: LOG_ROUNDS.writes * (round === 0 ? 4 : 1) });
        times[i] = cpuMilliseconds(child) - before;
      }
      if (round > 0) ratios.push(times[0] / times[1]);
    }
    console.error(
      `CPU time with the log relative to without: ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}`,
    );
    return median(ratios);
  } finally {
    for (const server of servers) await server.stop();
  }
}

function report(logRatio: number): void {
  const base = median(samples.get('raw R1')!);
  const rows = [...samples].map(([name, rates]) => ({
    name,
    what: WORKLOADS.find((workload) => name.endsWith(workload.name))!.what,
    perSecond: Math.round(median(rates)),
    ratioToRawR1: Number((median(rates) / base).toFixed(3)),
    spread: Number(((Math.max(...rates) - Math.min(...rates)) / median(rates)).toFixed(2)),
  }));
  console.log(`\n${pets} pets, ${rounds} rounds of ${seconds} s, ${connections} connections, ${machine()}\n`);
  console.log(
    '| server and workload | description | requests/s | ratio to raw R1 | spread |\n|---|---|--:|--:|--:|',
  );
  for (const { name, what, perSecond, ratioToRawR1, spread } of rows)
    console.log(`| ${name} | ${what} | ${perSecond} | ${ratioToRawR1} | ${Math.round(spread * 100)}% |`);
  const ratios = WORKLOADS.map(({ name }) => {
    const ratio = median(samples.get(`gateway ${name}`)!) / median(samples.get(`unlimited ${name}`)!);
    return `${name} ${ratio.toFixed(2)}`;
  });
  const [startMs, memoryMB] = [figures.startMs, figures.memoryMB].map((all) => Math.round(median(all)));
  console.log(`\nthroughput with the limiter relative to without: ${ratios.join(', ')}`);
  console.log(`CPU time of a write with the event log relative to without: ${logRatio.toFixed(3)}`);
  console.log(`\nready ${startMs} ms after the start, ${memoryMB} MB of memory after the run\n`);
  console.log(JSON.stringify({ pets, rounds, seconds, connections, rows, logRatio, startMs, memoryMB }));
  expectAtMost('CPU time of a write with the event log relative to without', logRatio, MAX_LOG_RATIO);
}
