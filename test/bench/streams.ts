import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { load } from './load.ts';
import { seed } from './seed.ts';
import { memoryOf, processorMilliseconds, startServer } from './server.ts';
import type { Order, Report } from './stream-readers.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run streams [-- --streams 1000 --rate 100 --seconds 10]`: what open streams of events cost the built gateway over the
 * embedded store. First while nothing happens: memory, and the processor time of a GET with and without them, by turns. Then
 * while so many events a second go to all of them: how long they take from the call that writes to the socket of the reader,
 * and whether each of them arrives on each stream once. Ends with 1 where a figure is worse than {@link MOST}.
 * Memory and processor time are read from /proc, so only on Linux.
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
/** No plan allows more. */
const streams = Math.min(1_000, Number(values.streams));
const rate = Math.min(1_000, Number(values.rate));
const seconds = Math.min(60, Number(values.seconds));
const rounds = Math.min(10, Number(values.rounds));
const LOAD_SECONDS = 2;
const CONNECTIONS = 32;
const MOST = { megabytes: 100, processorRatio: 1.1, p99: 250 };
/** How long nothing more must come before what has not arrived counts as lost, in milliseconds. */
const PATIENCE = 5_000;

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
console.log(problems.length === 0 ? 'all well' : problems.join('\n'));
process.exitCode = problems.length === 0 ? 0 : 1;

/** Has the readers do something. */
function tell(order: Order): Promise<Report> {
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('The readers ended.'));
    readers.once('exit', ended);
    readers.once('message', (report: Report) => {
      readers.off('exit', ended);
      resolve(report);
    });
    readers.send(order);
  });
}

function openStreams(count = streams): Promise<Report> {
  return tell({ do: 'open', port: server.port, key, streams: count });
}

function expectAtMost(what: string, figure: number, most: number): void {
  if (!(figure <= most)) problems.push(`${what}: ${figure.toFixed(2)}, at most ${most} are allowed`);
}

/** Before anything else: later the process has memory to spare. */
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
  expectAtMost('memory of idle streams in MB', megabytes, MOST.megabytes);
}

async function measureIdle(): Promise<void> {
  const get = WORKLOADS.find(({ name }) => name === 'R1')!;
  const times = { with: [] as number[], without: [] as number[] };
  const measure = async (which: keyof typeof times) => {
    const before = processorMilliseconds(server.child);
    const { answers } = await load(server.url, get, key, {
      connections: CONNECTIONS,
      duration: LOAD_SECONDS,
    });
    times[which].push((processorMilliseconds(server.child) - before) / answers);
  };
  // Until the code is warm.
  await measure('without');
  times.without = [];
  for (let round = 0; round < rounds; round++) {
    await measure('without');
    await openStreams();
    await measure('with');
    await tell({ do: 'close' });
    await sleep(500);
  }
  // What else the machine does only adds to it.
  const ratio = Math.min(...times.with) / Math.min(...times.without);
  console.log(
    `processor time of a GET with them, the least as a ratio to the least without: ${ratio.toFixed(3)} (${shown(times.with)} to ${shown(times.without)} ms)`,
  );
  expectAtMost('processor time with idle streams', ratio, MOST.processorRatio);
}

function shown(figures: readonly number[]): string {
  return figures.map((one) => one.toFixed(3)).join(', ');
}

async function measureFanOut(): Promise<void> {
  const { next } = await eventsAfter(undefined);
  await openStreams();
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const sentAt = new Map<string, number>();
  // The first second is for the code to get warm: its events are counted, their times are not.
  const count = rate * (1 + seconds);
  const before = processorMilliseconds(server.child);
  const readersBefore = processorMilliseconds(readers);
  const began = performance.now();
  const calls: Promise<void>[] = [];
  for (let n = 0; n < count; n++) {
    const due = began + (n * 1000) / rate;
    if (due > performance.now()) await sleep(due - performance.now());
    const name = `Fan-out ${n}`;
    sentAt.set(name, performance.timeOrigin + performance.now());
    calls.push(createPet(agent, name));
  }
  await Promise.all(calls);
  const elapsed = performance.now() - began;
  await allArrived(count * streams);
  const share = (processorMilliseconds(server.child) - before) / elapsed;
  const readersShare = (processorMilliseconds(readers) - readersBefore) / elapsed;
  agent.destroy();

  const { open, arrived, streamsByEvents, arrivals } = await tell({ do: 'report' });
  const { names } = await eventsAfter(next);
  const latencies = arrivals!.flatMap((times) =>
    Array.from(times.subarray(rate), (time, i) => time - sentAt.get(names[rate + i]!)!),
  );
  latencies.sort((a, b) => a - b);
  const quantile = (part: number) =>
    latencies[Math.min(latencies.length - 1, Math.floor(part * latencies.length))]!;
  console.log(
    `${count} events at ${((count / elapsed) * 1000).toFixed(0)}/s to ${streams} streams: ${arrived} arrivals of ${count * streams} (streams by number of events: ${JSON.stringify(streamsByEvents)}, ${open} open at the end)`,
  );
  console.log(
    `from the call to the reader's socket: p50 ${quantile(0.5).toFixed(0)} ms, p99 ${quantile(0.99).toFixed(0)} ms, longest ${latencies.at(-1)!.toFixed(0)} ms; processor: server ${(share * 100).toFixed(0)}%, readers ${(readersShare * 100).toFixed(0)}% of a core`,
  );
  console.log(
    `${cpus().length} cores, load ${loadavg()
      .map((one) => one.toFixed(1))
      .join(' ')}, Node ${process.version}`,
  );
  if (names.length !== count || new Set(names).size !== count)
    problems.push(`${count} pets were created, the log has ${names.length}`);
  if (arrived !== count * streams) problems.push(`${count * streams - arrived} events did not arrive`);
  expectAtMost('p99 in ms', quantile(0.99), MOST.p99);
}

/** Waits until so many events have arrived, or nothing comes any more. */
async function allArrived(expected: number): Promise<void> {
  let arrived = -1;
  for (let since = performance.now(); performance.now() - since < PATIENCE; await sleep(100)) {
    const { arrived: now } = await tell({ do: 'count' });
    if (now >= expected) return;
    if (now !== arrived) since = performance.now();
    arrived = now;
  }
}

/** The names in the log behind a position, in its order, and the position behind them. */
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
