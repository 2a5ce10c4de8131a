import { fork } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  conclude,
  cpuMilliseconds,
  expectAtMost,
  machine,
  memoryOf,
  numbersOf,
  paced,
  post,
  problems,
  quantile,
  send,
  startServer,
  temporaryFolder,
} from './harness.ts';
import { load } from './load.ts';
import { fillFile, seed } from './seed.ts';
import type { Command, Report } from './stream-readers.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run streams [-- --streams 1000 --rate 100 --seconds 10]`: the cost of open event streams for the built gateway with
 * the embedded store. First for idle streams: their memory, and the CPU time of a GET with and without them, in
 * alternation. Then while `rate` events per second are sent to all of them: the time from the writing call to the reader's
 * socket, and whether each event arrives on each stream once. Exits with 1 if a figure exceeds {@link LIMITS}. Linux only,
 * because memory and CPU time are read from /proc.
 */
const { streams, rate, seconds, rounds } = numbersOf({
  // At most what the largest plan allows.
  streams: [1_000, 1_000],
  rate: [100, 1_000],
  seconds: [10, 60],
  rounds: [5, 10],
});
const LOAD_SECONDS = 2;
const CONNECTIONS = 32;
const LIMITS = { megabytes: 100, cpuRatio: 1.1, p99: 250 };
/** Milliseconds without arrivals after which missing events count as lost. */
const LOSS_TIMEOUT = 5_000;

const file = join(temporaryFolder(), 'petstore.db');
const key = await fillFile(file, (store) => seed(store, 1_000));
const server = await startServer({ DATA_FILE: file });
const readers = fork(join(import.meta.dirname, 'stream-readers.ts'), {
  execArgv: ['--import', 'tsx'],
  serialization: 'advanced',
});
try {
  await measureMemory();
  await measureIdle();
  await measureFanOut();
} finally {
  readers.disconnect();
  await server.stop();
}
conclude();

/** Sends a command to the readers and awaits their report. */
function tell(command: Command): Promise<Report> {
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
  return tell({ do: 'open', port: server.port, key, streams: count });
}

/** Must be first, because later the process has memory to spare. */
async function measureMemory(): Promise<void> {
  await openStreams(20);
  await tell({ do: 'close' });
  await sleep(500);
  const before = memoryOf(server.child);
  await openStreams();
  await sleep(1_000);
  const megabytes = memoryOf(server.child) - before;
  await tell({ do: 'close' });
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
    await tell({ do: 'close' });
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
  const sentAt = new Map<string, number>();
  // The first second warms up the code: its events are counted, but not their times.
  const count = rate * (1 + seconds);
  const before = cpuMilliseconds(server.child);
  const readersBefore = cpuMilliseconds(readers);
  const startedAt = performance.now();
  await paced(rate, count, async (n) => {
    const name = `Fan-out ${n}`;
    sentAt.set(name, performance.timeOrigin + performance.now());
    const { status } = await send(server.url, post('/pets', { name, categoryId: 7 }), key);
    if (status !== 201) throw new Error(`POST /pets: ${status}`);
  });
  const elapsed = performance.now() - startedAt;
  await allArrived(count * streams);
  const share = (cpuMilliseconds(server.child) - before) / elapsed;
  const readersShare = (cpuMilliseconds(readers) - readersBefore) / elapsed;

  const { open, arrived, streamsByEvents, arrivals } = await tell({ do: 'report' });
  const { names } = await eventsAfter(next);
  const latencies = arrivals!.flatMap((times) =>
    Array.from(times.subarray(rate), (time, i) => time - sentAt.get(names[rate + i]!)!),
  );
  const [p50, p99, most] = [0.5, 0.99, 1].map((part) => quantile(latencies, part)) as [
    number,
    number,
    number,
  ];
  console.log(
    `${count} events at ${((count / elapsed) * 1000).toFixed(0)}/s to ${streams} streams: ${arrived} of ${count * streams} arrived (streams by number of events: ${JSON.stringify(streamsByEvents)}, ${open} open at the end)`,
  );
  console.log(
    `from the call to the reader's socket: p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, max ${most.toFixed(0)} ms; CPU: server ${(share * 100).toFixed(0)}%, readers ${(readersShare * 100).toFixed(0)}% of a core`,
  );
  console.log(machine());
  if (names.length !== count || new Set(names).size !== count)
    problems.push(`${count} pets were created, but the log has ${names.length} events`);
  if (arrived !== count * streams) problems.push(`${count * streams - arrived} events did not arrive`);
  expectAtMost('p99 in ms', p99, LIMITS.p99);
}

/** Waits until `expected` events have arrived, or no more arrive. */
async function allArrived(expected: number): Promise<void> {
  let arrived = -1;
  for (let since = performance.now(); performance.now() - since < LOSS_TIMEOUT; await sleep(100)) {
    const { arrived: now } = await tell({ do: 'count' });
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
