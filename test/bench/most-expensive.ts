import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS as DECLARATIONS } from '../../src/domains/index.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { schema } from '../../src/execution/schema.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { ATTACKS, type RawRequest } from './attacks.ts';
import { RequestGenerator } from './generator.ts';
import { unlimitedKey } from './seed.ts';
import { cpuMilliseconds, median, memoryOf, startServer } from './server.ts';

/**
 * The first tables of `npm run costs`: the CPU time and memory per unit of the most expensive requests found, on the built
 * gateway, compared with the most expensive REST call. Some are known; the others are the dearest among thousands that are
 * drawn from the whole GraphQL schema and OpenAPI description (SEEDS=4000, SEED=1 to begin elsewhere). A unit may cost at
 * most 10 times the CPU time of that call, a free request must cost less than the call, and no request may hold more than
 * 32 MB; otherwise the exit code is 1. Each is compared with the call in several alternating rounds, of which the median
 * counts, to reduce the influence of other processes. Linux only, because it reads /proc.
 */
const PORT = Number(process.env.PORT ?? 4172);
const RECORDS = 2_000;
const SEEDS = Number(process.env.SEEDS ?? 2_000);
const FIRST_SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
/** Generated requests that are measured thoroughly, per unit and free. */
const DEAREST = 6;
/** Keys that share the load, so that the free work of each is never used up. */
const KEYS = 40;
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

/** Requests sent so far. */
let sent = 0;
/** All requests take turns with them. */
let keys: readonly string[] = [];
const nextKey = () => keys[sent % keys.length]!;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const home = mkdtempSync(join(tmpdir(), 'petstore-expensive-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
try {
  const file = join(home, 'petstore.db');
  keys = await fill(file);
  const large = await withServer(file, [], (child) => measure(child));
  if (large.length > 0) await withServer(file, TRACE_GC_FLAGS, (child) => measureHeld(child, large));
} finally {
  agent.destroy();
}

async function withServer<R>(
  file: string,
  flags: readonly string[],
  work: (child: ChildProcess) => Promise<R>,
): Promise<R> {
  const server = await startServer([...flags, 'dist/main.js'], PORT, { DATA_FILE: file, TRUST_PROXY: '1' });
  try {
    return await work(server.child);
  } finally {
    await server.stop();
  }
}

/** Adds records of the maximum length. @returns keys without effective limits */
async function fill(file: string): Promise<string[]> {
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
  const made = [];
  for (let n = 0; n < KEYS; n++) made.push(await unlimitedKey(store));
  store.close();
  return made;
}

interface Cost {
  status: number;
  units: number;
  /** Peak growth of the process in megabytes during the first of these requests. */
  megabytes: number;
  /** CPU time of one request in milliseconds. */
  milliseconds: number;
}

/** Sends a request with this key. */
type Send = (key?: string) => Promise<{ status: number; remaining: number }>;

/** A request under measurement. */
interface Candidate {
  name: string;
  send: Send;
}

/** @returns the requests during which the process grew by more than a request may hold, including garbage */
async function measure(child: ChildProcess): Promise<Candidate[]> {
  const senderOf =
    (requestOf: () => RawRequest): Send =>
    (key = nextKey()) =>
      call(key, requestOf());
  const calls = [];
  for (const [name, path, body] of REST) {
    const send = senderOf(() => ({
      method: body === undefined ? 'GET' : 'POST',
      path,
      ...(body && { body }),
    }));
    for (let i = 0; i < 300; i++) await send();
    const { medians } = await compare(child, [send]);
    calls.push({ name, send, cost: { ...(await measureFirst(child, send)), milliseconds: medians[0]! } });
  }
  const worst = calls.reduce((a, b) => (a.cost.milliseconds > b.cost.milliseconds ? a : b));
  console.log(`CPU time per unit, compared with ${worst.name}\n`);
  console.log('| request | status | units | ms | ms per unit | ratio | MB |\n|---|--:|--:|--:|--:|--:|--:|');
  for (const { name, cost } of calls)
    console.log(row(name, cost, cost.milliseconds / worst.cost.milliseconds));
  const known = ATTACKS.map(({ name, path = '/graphql', headers, parameters }): Candidate => {
    let n = 0;
    return {
      name,
      send: senderOf(() => ({
        method: 'POST',
        path,
        body: JSON.stringify(parameters(n++)),
        ...(headers && { headers }),
      })),
    };
  });
  const large: Candidate[] = [];
  const dearest = { unit: 0, free: 0 };
  for (const candidate of [...known, ...(await search(child, senderOf))]) {
    const { name, send } = candidate;
    const first = await measureFirst(child, send);
    for (let i = 0; i < WARM_UP; i++) await send();
    const { medians, ratio } = await compare(child, [worst.send, send]);
    const times = ratio / Math.max(first.units, 1);
    console.log(row(name, { ...first, milliseconds: medians[1]! }, times));
    const kind = first.units === 0 ? 'free' : 'unit';
    dearest[kind] = Math.max(dearest[kind], times);
    if (first.megabytes > MAX_MEGABYTES) large.push(candidate);
  }
  console.log(
    `\nThe dearest unit costs ${dearest.unit.toFixed(1)} times the dearest REST call (at most ${MAX_TIMES}), the dearest free request ${dearest.free.toFixed(2)} times (at most 1).`,
  );
  if (dearest.unit > MAX_TIMES || dearest.free > 1) process.exitCode = 1;
  return large;
}

/** The dearest requests among many that are drawn from all there is, per unit and free. */
async function search(
  child: ChildProcess,
  senderOf: (requestOf: () => RawRequest) => Send,
): Promise<Candidate[]> {
  const openapi = JSON.parse(readFileSync('schema/openapi.json', 'utf8'));
  const generator = new RequestGenerator(schema, openapi);
  const found: (Candidate & { units: number; milliseconds: number })[] = [];
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
    const request = generator.request(seed);
    const send = senderOf(() => request);
    const { units } = await measureFirst(child, send);
    let milliseconds = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 2; i++) {
      const began = cpuMilliseconds(child);
      await send();
      milliseconds = Math.min(milliseconds, cpuMilliseconds(child) - began);
    }
    const text = `${request.method} ${request.path} ${JSON.stringify(request.headers)} ${request.body ?? ''}`;
    found.push({
      name: `seed ${seed}: ${text.slice(0, 160).replaceAll('|', '/')}`,
      send,
      units,
      milliseconds,
    });
  }
  const perUnit = (one: (typeof found)[number]) => one.milliseconds / Math.max(one.units, 1);
  const ranked = found.toSorted((a, b) => perUnit(b) - perUnit(a));
  return [
    ...ranked.filter(({ units }) => units > 0).slice(0, DEAREST),
    ...ranked.filter(({ units }) => units === 0).slice(0, DEAREST),
  ];
}

/** Measures the memory that is not garbage: the difference between the least and the most that collections leave. */
async function measureHeld(child: ChildProcess, candidates: readonly Candidate[]): Promise<void> {
  const left: number[] = [];
  createInterface(child.stdout!).on('line', (line) => {
    const megabytes = /Mark-Compact.* -> ([\d.]+) \(/.exec(line)?.[1];
    if (megabytes !== undefined) left.push(Number(megabytes));
  });
  console.log('\n| request | MB held |\n|---|--:|');
  for (const { name, send } of candidates) {
    await send();
    left.length = 0;
    for (let i = 0; i < 3; i++) await send();
    const held = left.length > 0 ? Math.max(...left) - Math.min(...left) : Number.NaN;
    console.log(`| ${name} | ${held.toFixed(2)} |`);
    if (!(held <= MAX_MEGABYTES)) process.exitCode = 1;
  }
}

function row(name: string, { status, units, megabytes, milliseconds }: Cost, times: number): string {
  const figures = [milliseconds, milliseconds / Math.max(units, 1), times, megabytes];
  return `| ${name} | ${status} | ${units} | ${figures.map((figure) => figure.toFixed(figure < 100 ? 2 : 0)).join(' | ')} |`;
}

async function measureFirst(child: ChildProcess, send: Send): Promise<Omit<Cost, 'milliseconds'>> {
  const key = nextKey();
  const before = await call(key, { method: 'GET', path: '/pets/1' });
  const held = memoryOf(child);
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  const { status, remaining } = await send(key);
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

/** Reads the whole response and discards it. Every request comes from another address. */
function call(
  key: string,
  { method, path, headers, body }: RawRequest,
): Promise<{ status: number; remaining: number }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        ...{ host: '127.0.0.1', port: PORT, path, method, agent },
        headers: {
          'x-api-key': key,
          'x-forwarded-for': `10.${[16, 8, 0].map((bits) => (sent >> bits) & 255).join('.')}`,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
          ...headers,
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
    sent++;
    request.on('error', reject);
    request.end(body);
  });
}
