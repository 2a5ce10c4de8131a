import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load } from './load.ts';
import { seed } from './seed.ts';
import { type MeasuredServer, median, memoryOf, processorMilliseconds, startServer } from './server.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run bench [-- --pets 10000 --rounds 3 --seconds 4]`: the built gateway with everything on, over the embedded store,
 * against a raw node:http server over the same data, and against itself without the limiter, in the same run. Prints requests
 * per second as medians, each with its ratio to the raw server's GET of one pet, as a table and as JSON. At last what the log
 * of changes costs a write, in processor time: ends with 1 where that is more than {@link MOST_FOR_LOG}.
 */
const { values: options } = parseArgs({
  options: {
    pets: { type: 'string', default: '10000' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '32' },
  },
});
const pets = Number(options.pets);
const rounds = Math.min(10, Number(options.rounds));
const seconds = Math.min(30, Number(options.seconds));
const connections = Math.min(256, Number(options.connections));

const SERVERS = {
  gateway: ['dist/main.js'],
  unlimited: ['--import', 'tsx', 'test/bench/unlimited.ts'],
  raw: ['--import', 'tsx', 'test/bench/raw.ts'],
} as const;
type ServerName = keyof typeof SERVERS;
const PORT = 4170;
/** Processor time of a write, as a ratio to that of one that leaves no event. */
const MOST_FOR_LOG = 1.1;
const LOG_ROUNDS = { rounds: 20, writes: 2_500 };

const home = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
console.error(`seeding ${pets} pets`);
const key = await seed(join(home, 'seed.db'), pets);

const samples = new Map<string, number[]>();
const figures: { startMs: number[]; memoryMB: number[] } = { startMs: [], memoryMB: [] };
for (let round = 1; round <= rounds; round++) {
  for (const name of round % 2
    ? (['raw', 'unlimited', 'gateway'] as const)
    : (['gateway', 'unlimited', 'raw'] as const))
    await measure(name);
}
report(await costOfLog());

/** A new copy of the data. */
function freshData(name: string): string {
  const file = join(home, name);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  cpSync(join(home, 'seed.db'), file);
  return file;
}

async function measure(name: ServerName): Promise<void> {
  const settings = { DATA_FILE: freshData('run.db') };
  const began = performance.now();
  const path = name === 'raw' ? '/pets/1' : undefined;
  const server = await startServer(SERVERS[name], PORT, settings, path);
  try {
    if (name === 'gateway') figures.startMs.push(performance.now() - began);
    for (const workload of WORKLOADS) {
      if (name === 'raw' && !workload.raw) continue;
      await load(server.url, workload, key, { connections, duration: 1 });
      const done = await load(server.url, workload, key, { connections, duration: seconds });
      const rate = done.answers / done.seconds;
      const sample = `${name} ${workload.name}`;
      samples.set(sample, [...(samples.get(sample) ?? []), rate]);
      console.error(`${sample}: ${rate.toFixed(0)}/s`);
    }
    if (name === 'gateway') figures.memoryMB.push(memoryOf(server.child));
  } finally {
    await server.stop();
  }
}

/** Two servers that differ in nothing else take turns. @returns the ratio of their processor time a write */
async function costOfLog(): Promise<number> {
  const write = WORKLOADS.find(({ name }) => name === 'R3')!;
  const servers: MeasuredServer[] = [];
  try {
    for (const [i, program] of ['dist/main.js', 'test/bench/unlogged.ts'].entries()) {
      const settings = { DATA_FILE: freshData(`log-${i}.db`) };
      servers.push(await startServer(['--import', 'tsx', program], PORT + 1 + i, settings));
    }
    const ratios: number[] = [];
    // The first round is for the code to get warm.
    for (let round = 0; round <= LOG_ROUNDS.rounds; round++) {
      const times: [number, number] = [0, 0];
      for (const i of round % 2 ? ([0, 1] as const) : ([1, 0] as const)) {
        const { child, url } = servers[i]!;
        const before = processorMilliseconds(child);
        await load(url, write, key, { connections, amount: LOG_ROUNDS.writes * (round === 0 ? 4 : 1) });
        times[i] = processorMilliseconds(child) - before;
      }
      if (round > 0) ratios.push(times[0] / times[1]);
    }
    console.error(`with the log, as ratios to without: ${ratios.map((one) => one.toFixed(2)).join(' ')}`);
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
  console.log(
    `\n${pets} pets, ${rounds} rounds of ${seconds} s, ${connections} connections, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}\n`,
  );
  console.log(
    '| server and workload | what | requests/s | ratio to raw R1 | spread |\n|---|---|--:|--:|--:|',
  );
  for (const row of rows) {
    console.log(
      `| ${row.name} | ${row.what} | ${row.perSecond} | ${row.ratioToRawR1} | ${Math.round(row.spread * 100)}% |`,
    );
  }
  const withLimiter = WORKLOADS.map(({ name }) => ({
    name,
    ratio: median(samples.get(`gateway ${name}`)!) / median(samples.get(`unlimited ${name}`)!),
  }));
  const ratios = withLimiter.map(({ name, ratio }) => `${name} ${ratio.toFixed(2)}`).join(', ');
  console.log(`\nthroughput with the limiter, as a ratio to that without: ${ratios}`);
  console.log(
    `processor time of a write with the log of changes, as a ratio to that without: ${logRatio.toFixed(3)}`,
  );
  if (logRatio > MOST_FOR_LOG) {
    console.log(`that is more than ${MOST_FOR_LOG}`);
    process.exitCode = 1;
  }
  const summary = {
    logRatio,
    startMs: Math.round(median(figures.startMs)),
    memoryMB: Math.round(median(figures.memoryMB)),
  };
  console.log(`\nstart to ready ${summary.startMs} ms, memory after the run ${summary.memoryMB} MB\n`);
  console.log(JSON.stringify({ pets, rounds, seconds, connections, rows, ...summary }));
}
