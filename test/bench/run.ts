import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { load } from './load.ts';
import { seed } from './seed.ts';
import { cpuMilliseconds, type MeasuredServer, median, memoryOf, startServer } from './server.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run bench [-- --pets 10000 --rounds 3 --seconds 4]`: compares the built gateway with everything enabled on the
 * embedded store, the same without the limiter, and a raw node:http server, on the same data and in the same run. Prints
 * median requests per second, each with its ratio to the raw server's GET of one pet, as a table and as JSON. Then prints
 * the CPU time that the event log adds to a write, and exits with 1 if it exceeds {@link MAX_LOG_RATIO}.
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
/** CPU time of a write relative to one that is not logged. */
const MAX_LOG_RATIO = 1.1;
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

/** Makes a new copy of the data. */
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
      const result = await load(server.url, workload, key, { connections, duration: seconds });
      const rate = result.responses / result.seconds;
      const sample = `${name} ${workload.name}`;
      samples.set(sample, [...(samples.get(sample) ?? []), rate]);
      console.error(`${sample}: ${rate.toFixed(0)}/s`);
    }
    if (name === 'gateway') figures.memoryMB.push(memoryOf(server.child));
  } finally {
    await server.stop();
  }
}

/** Compares two servers that differ only in the log, in alternation. @returns the ratio of their CPU times per write */
async function costOfLog(): Promise<number> {
  const write = WORKLOADS.find(({ name }) => name === 'R3')!;
  const servers: MeasuredServer[] = [];
  try {
    for (const [i, program] of ['dist/main.js', 'test/bench/unlogged.ts'].entries()) {
      const settings = { DATA_FILE: freshData(`log-${i}.db`) };
      servers.push(await startServer(['--import', 'tsx', program], PORT + 1 + i, settings));
    }
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
  console.log(
    `\n${pets} pets, ${rounds} rounds of ${seconds} s, ${connections} connections, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}\n`,
  );
  console.log(
    '| server and workload | description | requests/s | ratio to raw R1 | spread |\n|---|---|--:|--:|--:|',
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
  console.log(`\nthroughput with the limiter relative to without: ${ratios}`);
  console.log(`CPU time of a write with the event log relative to without: ${logRatio.toFixed(3)}`);
  if (logRatio > MAX_LOG_RATIO) {
    console.log(`the limit is ${MAX_LOG_RATIO}`);
    process.exitCode = 1;
  }
  const summary = {
    logRatio,
    startMs: Math.round(median(figures.startMs)),
    memoryMB: Math.round(median(figures.memoryMB)),
  };
  console.log(
    `\nready ${summary.startMs} ms after the start, ${summary.memoryMB} MB of memory after the run\n`,
  );
  console.log(JSON.stringify({ pets, rounds, seconds, connections, rows, ...summary }));
}
