import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { seed } from './seed.ts';
import { WORKLOADS, type Workload } from './workloads.ts';

/**
 * `npm run bench [-- --pets 10000 --rounds 3 --seconds 4]`: the built gateway with everything on, over the embedded store,
 * against a raw node:http server over the same data, and against itself without the limiter, in the same run. Prints requests per second as medians, each with its
 * ratio to the raw server's GET of one pet, as a table and as JSON.
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
report();

async function measure(name: ServerName): Promise<void> {
  const file = join(home, 'run.db');
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  cpSync(join(home, 'seed.db'), file);
  const began = performance.now();
  const child = spawn(process.execPath, SERVERS[name], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', PORT: String(PORT), DATA_FILE: file },
  });
  child.stdout.resume();
  try {
    await ready(name === 'raw' ? '/pets/1' : '/health/ready');
    if (name === 'gateway') figures.startMs.push(performance.now() - began);
    for (const workload of WORKLOADS) {
      if (name === 'raw' && !workload.raw) continue;
      await load(workload, 1);
      const rate = await load(workload, seconds);
      const sample = `${name} ${workload.name}`;
      samples.set(sample, [...(samples.get(sample) ?? []), rate]);
      console.error(`${sample}: ${rate.toFixed(0)}/s`);
    }
    if (name === 'gateway') figures.memoryMB.push(memoryOf(child));
  } finally {
    child.kill('SIGTERM');
    await new Promise((resolve) => child.once('exit', resolve));
  }
}

async function ready(path: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const ok = await fetch(`http://127.0.0.1:${PORT}${path}`).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await sleep(10);
  }
  throw new Error('The server did not start.');
}

async function load({ path, body }: Workload, duration: number): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${PORT}${path}`,
    connections,
    duration,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-api-key': key,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
  return result.requests.total / result.duration;
}

function memoryOf(child: ChildProcess): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

function report(): void {
  const base = median(samples.get('raw R1')!);
  const rows = [...samples].map(([name, rates]) => ({
    name,
    what: WORKLOADS.find((workload) => name.endsWith(workload.name))!.what,
    perSecond: Math.round(median(rates)),
    ratioToRawR1: Number((median(rates) / base).toFixed(3)),
    spread: Number(((Math.max(...rates) - Math.min(...rates)) / median(rates)).toFixed(2)),
  }));
  console.log(
    `\n${pets} pets, ${rounds} rounds of ${seconds} s, ${connections} connections, ${cpus().length} cores, Node ${process.version}\n`,
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
  const summary = {
    startMs: Math.round(median(figures.startMs)),
    memoryMB: Math.round(median(figures.memoryMB)),
  };
  console.log(`\nstart to ready ${summary.startMs} ms, memory after the run ${summary.memoryMB} MB\n`);
  console.log(JSON.stringify({ pets, rounds, seconds, connections, rows, ...summary }));
}
