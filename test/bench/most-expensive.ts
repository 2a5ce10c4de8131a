import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import { unlimitedKey } from './seed.ts';
import { median, memoryOf, processorMilliseconds, startServer } from './server.ts';

/**
 * The first table of `npm run costs`: what the most expensive GraphQL requests that were found cost the built product for each
 * unit that they pay, in processor time and in memory, against the most expensive REST call. No unit may cost more than 10 times
 * that call's time, what is free must cost less than the call, and no request may hold more than 32 MB; one that does ends
 * the run with 1. Each is compared with the call in several rounds, one after the other, and the middle one counts, so that
 * what else the machine does changes little. Reads /proc, so only on Linux.
 */
const PORT = Number(process.env.PORT ?? 4172);
const RECORDS = 2_000;
const MAX_TIMES = 10;
const MAX_MEGABYTES = 32;
const ROUNDS = 5;
/** Requests of each kind before the first one that counts. */
const WARM_UP = 10;
/** Processor time to spend on one kind of request in one round, in milliseconds. */
const ENOUGH = 40;

/** Calls that are answered as they are meant to be: the most expensive of them is what a unit is worth. */
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

/** A server that says what each full collection of garbage leaves, makes many, and takes none of it for alive. */
const TRACED = ['--trace-gc', '--max-old-space-size=128', '--no-incremental-marking'];

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const home = mkdtempSync(join(tmpdir(), 'petstore-expensive-'));
try {
  const file = join(home, 'petstore.db');
  const key = await fill(file);
  const large = await withServer(file, [], (child) => measure(child, key));
  if (large.length > 0) await withServer(file, TRACED, (child) => measureHeld(child, key, large));
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

/** Records as long as they may be. @returns a key that no limit stops */
async function fill(file: string): Promise<string> {
  const store = openSqliteStore({ file, role: 'server' });
  for (let n = 1; n <= 100; n++)
    await store.createCategory({ name: `${n}`.padEnd(200, 'c'), description: `${n}`.padEnd(2_000, 'd') });
  for (let n = 0; n < RECORDS; n += 100) {
    await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const { id } = await store.createPet({
          name: `${n + i}`.padEnd(200, 'p'),
          categoryId: String(((n + i) % 100) + 1),
          status: 'sold',
        });
        for (let o = 0; o < 12; o++)
          await store.createOrder({
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
  /** Megabytes that the process has more while the first of these requests runs. */
  megabytes: number;
  /** Milliseconds of processor time of one request. */
  milliseconds: number;
}

type Ask = () => Promise<{ status: number; remaining: number }>;

/** @returns those during which the process has grown by more than a request may hold, be it garbage or not */
async function measure(child: ChildProcess, key: string): Promise<Attack[]> {
  const calls = [];
  for (const [name, path, body] of REST) {
    const ask = () => call(key, path, body);
    for (let i = 0; i < 300; i++) await ask();
    const { medians } = await compare(child, [ask]);
    calls.push({ name, ask, cost: { ...(await firstOf(child, key, ask)), milliseconds: medians[0]! } });
  }
  const worst = calls.reduce((a, b) => (a.cost.milliseconds > b.cost.milliseconds ? a : b));
  const bar = worst.cost.milliseconds;
  console.log(`Processor time of one unit against that of ${worst.name}\n`);
  console.log('| request | status | units | ms | ms a unit | times | MB |\n|---|--:|--:|--:|--:|--:|--:|');
  for (const { name, cost } of calls) console.log(row(name, cost, cost.milliseconds / bar));
  let isWithin = true;
  const large: Attack[] = [];
  for (const attack of ATTACKS) {
    const { name } = attack;
    const ask = askOf(attack, key);
    const first = await firstOf(child, key, ask);
    for (let i = 0; i < WARM_UP; i++) await ask();
    const { medians, ratio } = await compare(child, [worst.ask, ask]);
    const times = ratio / Math.max(first.units, 1);
    console.log(row(name, { ...first, milliseconds: medians[1]! }, times));
    if (times > (first.units === 0 ? 1 : MAX_TIMES)) isWithin = false;
    if (first.megabytes > MAX_MEGABYTES) large.push(attack);
  }
  if (!isWithin) process.exitCode = 1;
  return large;
}

/** How much of the memory is no garbage: the difference between the least and the most that collections leave. */
async function measureHeld(child: ChildProcess, key: string, attacks: readonly Attack[]): Promise<void> {
  const left: number[] = [];
  createInterface(child.stdout!).on('line', (line) => {
    const megabytes = /Mark-Compact.* -> ([\d.]+) \(/.exec(line)?.[1];
    if (megabytes !== undefined) left.push(Number(megabytes));
  });
  console.log('\n| request | MB held |\n|---|--:|');
  for (const attack of attacks) {
    const ask = askOf(attack, key);
    await ask();
    left.length = 0;
    for (let i = 0; i < 3; i++) await ask();
    const held = left.length > 0 ? Math.max(...left) - Math.min(...left) : Number.NaN;
    console.log(`| ${attack.name} | ${held.toFixed(2)} |`);
    if (!(held <= MAX_MEGABYTES)) process.exitCode = 1;
  }
}

function askOf({ path = '/graphql', headers, parameters }: Attack, key: string): Ask {
  let n = 0;
  return () => call(key, path, JSON.stringify(parameters(n++)), headers);
}

function row(name: string, { status, units, megabytes, milliseconds }: Cost, times: number): string {
  const figures = [milliseconds, milliseconds / Math.max(units, 1), times, megabytes];
  return `| ${name} | ${status} | ${units} | ${figures.map((figure) => figure.toFixed(figure < 100 ? 2 : 0)).join(' | ')} |`;
}

async function firstOf(child: ChildProcess, key: string, ask: Ask): Promise<Omit<Cost, 'milliseconds'>> {
  const before = await call(key, '/pets/1');
  const held = memoryOf(child);
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  const { status, remaining } = await ask();
  const megabytes = Math.max(0, memoryOf(child, 'VmHWM') - held);
  return { status, units: before.remaining - remaining, megabytes };
}

/**
 * Sends requests of each kind in turns.
 *
 * @returns milliseconds of one request of each kind, and how many times the first the last one takes, both in the middle round
 */
async function compare(
  child: ChildProcess,
  kinds: readonly Ask[],
): Promise<{ medians: number[]; ratio: number }> {
  const rounds: number[][] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const round = [];
    for (const ask of kinds) round.push(await burst(child, ask));
    rounds.push(round);
  }
  const medians = kinds.map((_, kind) => median(rounds.map((round) => round[kind]!)));
  return { medians, ratio: median(rounds.map((round) => round.at(-1)! / round[0]!)) };
}

async function burst(child: ChildProcess, ask: Ask): Promise<number> {
  const began = processorMilliseconds(child);
  let spent = 0;
  let requests = 0;
  while (spent < ENOUGH) {
    await ask();
    requests++;
    spent = processorMilliseconds(child) - began;
  }
  return spent / requests;
}

/** Reads the whole answer and keeps nothing of it. */
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
