import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS as DECLARATIONS } from '../../src/domains/index.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { unlimitedKey } from './seed.ts';
import { cpuMilliseconds, median, memoryOf, startServer } from './server.ts';

/**
 * The first table of `npm run costs`: the CPU time and memory per unit of the most expensive GraphQL requests found, on the
 * built gateway, compared with the most expensive REST call. A unit may cost at most 10 times the CPU time of that call, a
 * free request must cost less than the call, and no request may hold more than 32 MB; otherwise the exit code is 1. Each is
 * compared with the call in several alternating rounds, of which the median counts, to reduce the influence of other
 * processes. Linux only, because it reads /proc.
 */
const PORT = Number(process.env.PORT ?? 4172);
const RECORDS = 2_000;
const MAX_TIMES = 10;
const MAX_MEGABYTES = 32;
const ROUNDS = 5;
/** Requests of each kind before the measurement. */
const WARM_UP = 10;
/** CPU time to spend on one kind of request per round, in milliseconds. */
const ROUND_CPU_TIME = 40;

/** Ordinary calls, the most expensive of which defines the value of a unit. */
const REST: readonly (readonly [name: string, path: string, body?: string])[] = [
  ['GET /pets?limit=100', '/pets?limit=100'],
  ['GET /pets?status=sold&limit=100', '/pets?status=sold&limit=100'],
  ['GET /categories?limit=100', '/categories?limit=100'],
  ['GET /store/orders?limit=100', '/store/orders?limit=100'],
  ['GET /store/inventory?limit=100', '/store/inventory?limit=100'],
  ['GET /events?limit=100', '/events?limit=100'],
  ['GET /pets/1', '/pets/1'],
  ['POST /pets', '/pets', '{"name":"Rex","categoryId":1}'],
  ['POST /store/orders', '/store/orders', '{"petId":1,"quantity":1}'],
  [
    'POST /categories',
    '/categories',
    JSON.stringify({ name: 'n'.repeat(200), description: 'd'.repeat(2_000) }),
  ],
];

/** Flags of a server that collects garbage often, precisely, and reports what each full collection leaves. */
const TRACE_GC_FLAGS = ['--trace-gc', '--max-old-space-size=128', '--no-incremental-marking'];

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const home = mkdtempSync(join(tmpdir(), 'petstore-expensive-'));
try {
  const file = join(home, 'petstore.db');
  const key = await fill(file);
  const large = await withServer(file, [], (child) => measure(child, key));
  if (large.length > 0) await withServer(file, TRACE_GC_FLAGS, (child) => measureHeld(child, key, large));
} finally {
  agent.destroy();
  rmSync(home, { recursive: true, force: true });
}

async function withServer<R>(
  file: string,
  flags: readonly string[],
  work: (child: ChildProcess) => Promise<R>,
): Promise<R> {
  const server = await startServer([...flags, 'dist/main.js'], PORT, { DATA_FILE: file });
  try {
    return await work(server.child);
  } finally {
    await server.stop();
  }
}

/** Adds records of the maximum length. @returns a key without effective limits */
async function fill(file: string): Promise<string> {
  const store = openSqliteStore({ records: DECLARATIONS, file, role: 'server' });
  for (let n = 1; n <= 100; n++)
    await store
      .table(Category)
      .insert({ name: `${n}`.padEnd(200, 'c'), description: `${n}`.padEnd(2_000, 'd') });
  for (let n = 0; n < RECORDS; n += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const { id } = await store.table(Pet).insert({
          name: `${n + i}`.padEnd(200, 'p'),
          categoryId: String(((n + i) % 100) + 1),
          status: 'sold',
        });
        for (let o = 0; o < 12; o++)
          await store.table(Order).insert({
            petId: id,
            quantity: 1,
            shipDate: '2026-01-31T09:30:00Z',
            complete: true,
          });
      }),
    );
  }
  const key = await unlimitedKey(store);
  store.close();
  return key;
}

interface Cost {
  status: number;
  units: number;
  /** Peak growth of the process in megabytes during the first of these requests. */
  megabytes: number;
  /** CPU time of one request in milliseconds. */
  milliseconds: number;
}

type Send = () => Promise<{ status: number; remaining: number }>;

/** @returns the attacks during which the process grew by more than a request may hold, including garbage */
async function measure(child: ChildProcess, key: string): Promise<Attack[]> {
  const calls = [];
  for (const [name, path, body] of REST) {
    const send = () => call(key, path, body);
    for (let i = 0; i < 300; i++) await send();
    const { medians } = await compare(child, [send]);
    calls.push({
      name,
      send,
      cost: { ...(await measureFirst(child, key, send)), milliseconds: medians[0]! },
    });
  }
  const worst = calls.reduce((a, b) => (a.cost.milliseconds > b.cost.milliseconds ? a : b));
  const unitTime = worst.cost.milliseconds;
  console.log(`CPU time per unit, compared with ${worst.name}\n`);
  console.log('| request | status | units | ms | ms per unit | ratio | MB |\n|---|--:|--:|--:|--:|--:|--:|');
  for (const { name, cost } of calls) console.log(row(name, cost, cost.milliseconds / unitTime));
  let passed = true;
  const large: Attack[] = [];
  for (const attack of ATTACKS) {
    const { name } = attack;
    const send = senderOf(attack, key);
    const first = await measureFirst(child, key, send);
    for (let i = 0; i < WARM_UP; i++) await send();
    const { medians, ratio } = await compare(child, [worst.send, send]);
    const times = ratio / Math.max(first.units, 1);
    console.log(row(name, { ...first, milliseconds: medians[1]! }, times));
    if (times > (first.units === 0 ? 1 : MAX_TIMES)) passed = false;
    if (first.megabytes > MAX_MEGABYTES) large.push(attack);
  }
  if (!passed) process.exitCode = 1;
  return large;
}

/** Measures the memory that is not garbage: the difference between the least and the most that collections leave. */
async function measureHeld(child: ChildProcess, key: string, attacks: readonly Attack[]): Promise<void> {
  const left: number[] = [];
  createInterface(child.stdout!).on('line', (line) => {
    const megabytes = /Mark-Compact.* -> ([\d.]+) \(/.exec(line)?.[1];
    if (megabytes !== undefined) left.push(Number(megabytes));
  });
  console.log('\n| request | MB held |\n|---|--:|');
  for (const attack of attacks) {
    const send = senderOf(attack, key);
    await send();
    left.length = 0;
    for (let i = 0; i < 3; i++) await send();
    const held = left.length > 0 ? Math.max(...left) - Math.min(...left) : Number.NaN;
    console.log(`| ${attack.name} | ${held.toFixed(2)} |`);
    if (!(held <= MAX_MEGABYTES)) process.exitCode = 1;
  }
}

function senderOf({ path = '/graphql', headers, parameters }: Attack, key: string): Send {
  let n = 0;
  return () => call(key, path, JSON.stringify(parameters(n++)), headers);
}

function row(name: string, { status, units, megabytes, milliseconds }: Cost, times: number): string {
  const figures = [milliseconds, milliseconds / Math.max(units, 1), times, megabytes];
  return `| ${name} | ${status} | ${units} | ${figures.map((figure) => figure.toFixed(figure < 100 ? 2 : 0)).join(' | ')} |`;
}

async function measureFirst(
  child: ChildProcess,
  key: string,
  send: Send,
): Promise<Omit<Cost, 'milliseconds'>> {
  const before = await call(key, '/pets/1');
  const held = memoryOf(child);
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  const { status, remaining } = await send();
  const megabytes = Math.max(0, memoryOf(child, 'VmHWM') - held);
  return { status, units: before.remaining - remaining, megabytes };
}

/**
 * Sends requests of each kind in alternation.
 *
 * @returns the median CPU milliseconds per request of each kind, and the median ratio of the last kind to the first
 */
async function compare(
  child: ChildProcess,
  kinds: readonly Send[],
): Promise<{ medians: number[]; ratio: number }> {
  const rounds: number[][] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const round = [];
    for (const send of kinds) round.push(await burst(child, send));
    rounds.push(round);
  }
  const medians = kinds.map((_, kind) => median(rounds.map((round) => round[kind]!)));
  return { medians, ratio: median(rounds.map((round) => round.at(-1)! / round[0]!)) };
}

async function burst(child: ChildProcess, send: Send): Promise<number> {
  const began = cpuMilliseconds(child);
  let spent = 0;
  let requests = 0;
  while (spent < ROUND_CPU_TIME) {
    await send();
    requests++;
    spent = cpuMilliseconds(child) - began;
  }
  return spent / requests;
}

/** Reads the whole response and discards it. */
function call(
  key: string,
  path: string,
  body?: string,
  more?: Readonly<Record<string, string>>,
): Promise<{ status: number; remaining: number }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port: PORT,
        path,
        method: body === undefined ? 'GET' : 'POST',
        agent,
        headers: {
          'x-api-key': key,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
          ...more,
        },
      },
      (response) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () => {
          const remaining = Number(response.headers['x-ratelimit-remaining']);
          resolve({ status: response.statusCode!, remaining });
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
