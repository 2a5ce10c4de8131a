import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load } from './load.ts';
import { seed } from './seed.ts';
import { cpuMilliseconds, memoryOf, startServer } from './server.ts';
import type { Command, Report } from './stream-readers.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run streams [-- --streams 1000 --rate 100 --seconds 10]`: the cost of open event streams for the built gateway with
 * the embedded store. First for idle streams: their memory, and the CPU time of a GET with and without them, in
 * alternation. Then while `rate` events per second are sent to all of them: the time from the writing call to the reader's
 * socket, and whether each event arrives on each stream once. Exits with 1 if a figure exceeds {@link LIMITS}. Linux only,
 * because memory and CPU time are read from /proc.
 */
const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '5' },
    port: { type: 'string', default: '4175' },
  },
});
/** At most what the largest plan allows. */
const streams = Math.min(1_000, Number(values.streams));
const rate = Math.min(1_000, Number(values.rate));
const seconds = Math.min(60, Number(values.seconds));
const rounds = Math.min(10, Number(values.rounds));
const LOAD_SECONDS = 2;
const CONNECTIONS = 32;
const LIMITS = { megabytes: 100, cpuRatio: 1.1, p99: 250 };
/** Milliseconds without arrivals after which missing events count as lost. */
const LOSS_TIMEOUT = 5_000;

const home = mkdtempSync(join(tmpdir(), 'petstore-streams-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const file = join(home, 'petstore.db');
const key = await seed(file, 1_000);
const server = await startServer(['dist/main.js'], Number(values.port), { DATA_FILE: file });
const readers = fork(join(import.meta.dirname, 'stream-readers.ts'), {
  execArgv: ['--import', 'tsx'],
  serialization: 'advanced',
});
const problems: string[] = [];
try {
  await measureMemory();
  await measureIdle();
  await measureFanOut();
} finally {
  readers.disconnect();
  await server.stop();
}
console.log(problems.length === 0 ? 'passed' : problems.join('\n'));
process.exitCode = problems.length === 0 ? 0 : 1;

/** Sends a command to the readers and awaits their report. */
function send(command: Command): Promise<Report> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('The readers ended.'));
    readers.once('exit', ended);
    readers.once('message', (report: Report) => {
      readers.off('exit', ended);
      resolve(report);
    });
    readers.send(command);
  });
}

function openStreams(count = streams): Promise<Report> {
  return send({ do: 'open', port: server.port, key, streams: count });
}

function expectAtMost(what: string, figure: number, limit: number): void {
  if (!(figure <= limit)) problems.push(`${what}: ${figure.toFixed(2)}, the limit is ${limit}`);
}

/** Must be first, because later the process has memory to spare. */
async function measureMemory(): Promise<void> {
  await openStreams(20);
  await send({ do: 'close' });
  await sleep(500);
  const before = memoryOf(server.child);
  await openStreams();
  await sleep(1_000);
  const megabytes = memoryOf(server.child) - before;
  await send({ do: 'close' });
  console.log(`${streams} idle streams: ${megabytes.toFixed(0)} MB`);
  expectAtMost('memory of idle streams in MB', megabytes, LIMITS.megabytes);
}

async function measureIdle(): Promise<void> {
  const get = WORKLOADS.find(({ name }) => name === 'R1')!;
  const times = { with: [] as number[], without: [] as number[] };
  const measure = async (which: keyof typeof times) => {
    const before = cpuMilliseconds(server.child);
    const { responses } = await load(server.url, get, key, {
      connections: CONNECTIONS,
      duration: LOAD_SECONDS,
    });
    times[which].push((cpuMilliseconds(server.child) - before) / responses);
  };
  // Warms up the code.
  await measure('without');
  times.without = [];
  for (let round = 0; round < rounds; round++) {
    await measure('without');
    await openStreams();
    await measure('with');
    await send({ do: 'close' });
    await sleep(500);
  }
  // Other processes can only add to the time, so compare the minima.
  const ratio = Math.min(...times.with) / Math.min(...times.without);
  console.log(
    `CPU time of a GET with idle streams relative to without, minima compared: ${ratio.toFixed(3)} (${formatTimes(times.with)} to ${formatTimes(times.without)} ms)`,
  );
  expectAtMost('CPU time with idle streams relative to without', ratio, LIMITS.cpuRatio);
}

function formatTimes(times: readonly number[]): string {
  return times.map((time) => time.toFixed(3)).join(', ');
}

async function measureFanOut(): Promise<void> {
  const { next } = await eventsAfter(undefined);
  await openStreams();
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const sentAt = new Map<string, number>();
  // The first second warms up the code: its events are counted, but not their times.
  const count = rate * (1 + seconds);
  const before = cpuMilliseconds(server.child);
  const readersBefore = cpuMilliseconds(readers);
  const startedAt = performance.now();
  const calls: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    const due = startedAt + (n * 1000) / rate;
    if (due > performance.now()) await sleep(due - performance.now());
    const name = `Fan-out ${n}`;
    sentAt.set(name, performance.timeOrigin + performance.now());
    calls.push(createPet(agent, name));
  }
  await Promise.all(calls);
  const elapsed = performance.now() - startedAt;
  await allArrived(count * streams);
  const share = (cpuMilliseconds(server.child) - before) / elapsed;
  const readersShare = (cpuMilliseconds(readers) - readersBefore) / elapsed;
  agent.destroy();

  const { open, arrived, streamsByEvents, arrivals } = await send({ do: 'report' });
  const { names } = await eventsAfter(next);
  const latencies = arrivals!.flatMap((times) =>
    Array.from(times.subarray(rate), (time, i) => time - sentAt.get(names[rate + i]!)!),
  );
  latencies.sort((a, b) => a - b);
  const quantile = (part: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))]!;
  console.log(
    `${count} events at ${((count / elapsed) * 1000).toFixed(0)}/s to ${streams} streams: ${arrived} of ${count * streams} arrived (streams by number of events: ${JSON.stringify(streamsByEvents)}, ${open} open at the end)`,
  );
  console.log(
    `from the call to the reader's socket: p50 ${quantile(0.5).toFixed(0)} ms, p99 ${quantile(0.99).toFixed(0)} ms, max ${latencies.at(-1)!.toFixed(0)} ms; CPU: server ${(share * 100).toFixed(0)}%, readers ${(readersShare * 100).toFixed(0)}% of a core`,
  );
  console.log(
    `${cpus().length} cores, load ${loadavg()
      .map((average) => average.toFixed(1))
      .join(' ')}, Node ${process.version}`,
  );
  if (names.length !== count || new Set(names).size !== count)
    problems.push(`${count} pets were created, but the log has ${names.length} events`);
  if (arrived !== count * streams) problems.push(`${count * streams - arrived} events did not arrive`);
  expectAtMost('p99 in ms', quantile(0.99), LIMITS.p99);
}

/** Waits until `expected` events have arrived, or no more arrive. */
async function allArrived(expected: number): Promise<void> {
  let arrived = -1;
  for (let since = performance.now(); performance.now() - since < LOSS_TIMEOUT; await sleep(100)) {
    const { arrived: now } = await send({ do: 'count' });
    if (now >= expected) return;
    if (now !== arrived) since = performance.now();
    arrived = now;
  }
}

/** The names in the log after a position, in log order, and the position after them. */
async function eventsAfter(position: string | undefined): Promise<{ names: string[]; next: string }> {
  const names: string[] = [];
  for (let after = position; ; ) {
    const query = after === undefined ? '' : `&after=${after}`;
    const response = await fetch(`${server.url}/events?limit=100${query}`, { headers: { 'X-API-Key': key } });
    const events = (await response.json()) as { id: string; data: { name: string } }[];
    after = /after=([^&>]+)/.exec(response.headers.get('link')!)![1]!;
    if (events.length === 0) return { names, next: after };
    names.push(...events.map(({ data }) => data.name));
  }
}

function createPet(agent: Agent, name: string): Promise<void> {
  const body = JSON.stringify({ name, categoryId: 7 });
  return new Promise((resolve, reject) => {
    const outgoing = request(
      `${server.url}/pets`,
      {
        agent,
        method: 'POST',
        headers: {
          'x-api-key': key,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 201 ? resolve() : reject(new Error(`POST /pets: ${response.statusCode}`)),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
