import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newApiKey } from '../../src/access/api-keys.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { ATTACKS } from './attacks.ts';

/**
 * The first table of `npm run costs`: what the most expensive GraphQL requests that were found cost the built product for each
 * unit that they pay, in processor time and in memory, against the most expensive REST call. No unit may cost more than 10 times
 * that call's time, and no request may hold more than 32 MB; one that does ends the run with 1. Memory is read from
 * /proc, so only on Linux.
 */
const PORT = Number(process.env.PORT ?? 4172);
const RECORDS = 2_000;
const MAX_TIMES = 10;
const MAX_MEGABYTES = 32;
/** Processor time to spend on each kind of request, in milliseconds, and the most requests. */
const [ENOUGH, MAX_REQUESTS] = [300, 40];
const NO_LIMITS = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };

const REST: readonly (readonly [name: string, path: string, body?: string])[] = [
  ['GET /pets?limit=100', '/pets?limit=100'],
  ['GET /categories?limit=100', '/categories?limit=100'],
  ['GET /store/orders?limit=100', '/store/orders?limit=100'],
  ['GET /store/inventory?limit=100', '/store/inventory?limit=100'],
  ['GET /pets/1', '/pets/1'],
  ['POST /pets', '/pets', '{"name":"Rex","categoryId":1}'],
  ['POST /store/orders', '/store/orders', '{"petId":1,"quantity":1}'],
];

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const home = mkdtempSync(join(tmpdir(), 'petstore-expensive-'));
try {
  const file = join(home, 'petstore.db');
  const key = await fill(file);
  const child = spawn(process.execPath, ['dist/main.js'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', PORT: String(PORT), DATA_FILE: file },
  });
  try {
    await measure(child, key);
  } finally {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await exited;
  }
} finally {
  agent.destroy();
  rmSync(home, { recursive: true, force: true });
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
  const { key, apiKey } = newApiKey({
    name: 'costs',
    plan: 'enterprise',
    limits: NO_LIMITS,
    now: Date.now(),
  });
  await store.createApiKey(apiKey);
  store.close();
  return key;
}

interface Cost {
  /** Milliseconds of processor time of one request. */
  milliseconds: number;
  units: number;
  /** Megabytes that the process holds more while one request runs. */
  megabytes: number;
  status: number;
}

async function measure(child: ChildProcess, key: string): Promise<void> {
  await ready(key);
  const restCosts = [];
  for (const [name, path, body] of REST) {
    const ask = () => call(key, path, body);
    for (let i = 0; i < 300; i++) await ask();
    restCosts.push({ name, ...(await costOf(child, key, ask, 400, 2_000)) });
  }
  const worst = restCosts.reduce((a, b) => (a.milliseconds > b.milliseconds ? a : b));
  console.log(
    `Processor time of one unit against ${worst.milliseconds.toFixed(2)} ms, that of ${worst.name}\n`,
  );
  console.log('| request | status | units | ms | ms a unit | times | MB |\n|---|--:|--:|--:|--:|--:|--:|');
  for (const { name, milliseconds, units, megabytes, status } of restCosts) {
    const times = milliseconds / worst.milliseconds;
    console.log(row(name, status, units, milliseconds, milliseconds, times, megabytes));
  }
  let isWithin = true;
  for (const { name, parameters } of ATTACKS) {
    let n = 0;
    const cost = await costOf(child, key, () => call(key, '/graphql', JSON.stringify(parameters(n++))));
    const { milliseconds, units, megabytes, status } = cost;
    // What is free must be cheaper than the call itself.
    const each = milliseconds / Math.max(units, 1);
    const times = each / worst.milliseconds;
    console.log(row(name, status, units, milliseconds, each, times, megabytes));
    if (times > (units === 0 ? 1 : MAX_TIMES) || megabytes > MAX_MEGABYTES) isWithin = false;
  }
  if (!isWithin) process.exitCode = 1;
}

function row(name: string, status: number, units: number, ...figures: number[]): string {
  return `| ${name} | ${status} | ${units} | ${figures.map((figure) => figure.toFixed(figure < 100 ? 2 : 0)).join(' | ')} |`;
}

async function costOf(
  child: ChildProcess,
  key: string,
  ask: () => Promise<{ status: number; remaining: number }>,
  enough = ENOUGH,
  most = MAX_REQUESTS,
): Promise<Cost> {
  const before = await call(key, '/pets/1');
  const held = kilobytes(child, 'VmRSS');
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  const { status, remaining } = await ask();
  const megabytes = Math.max(0, (kilobytes(child, 'VmHWM') - held) / 1_024);
  const began = processorMilliseconds(child);
  let spent = 0;
  let requests = 0;
  while (requests < most && spent < enough) {
    for (let i = 0; i < 5; i++) await ask();
    requests += 5;
    spent = processorMilliseconds(child) - began;
  }
  return { milliseconds: spent / requests, units: before.remaining - remaining, megabytes, status };
}

function kilobytes(child: ChildProcess, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
}

/** Of all threads, in steps of a clock tick. */
function processorMilliseconds(child: ChildProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function ready(key: string): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const isUp = await call(key, '/health/ready').then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isUp) return;
    await sleep(20);
  }
  throw new Error('The server did not start.');
}

/** Reads the whole answer and keeps nothing of it. */
function call(key: string, path: string, body?: string): Promise<{ status: number; remaining: number }> {
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
