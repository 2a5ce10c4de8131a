import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { newApiKey } from '../../src/access/api-keys.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import findMongo, { dropDatabase, freePort, mongoUri } from '../kit/mongo.ts';
import { countingProxy, type Traffic } from './counting-proxy.ts';
import { WORKLOADS, type Workload } from './workloads.ts';

/**
 * `npm run costs [-- --requests 5000 --warm-up 10000]`: what one request costs on each engine, when the code is warm: the
 * processor time of the gateway, which doesn't depend on how fast the database is, and the commands and bytes that it
 * exchanges with MongoDB. Then how many pets a second one and two instances create in one category, which does depend on
 * it. Figures for the arithmetic of docs/growing.md. Looks for a MongoDB as the tests do.
 */
const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '5000' },
    'warm-up': { type: 'string', default: '10000' },
  },
});
const requests = Math.min(50_000, Number(values.requests));
const warmUp = Math.min(50_000, Number(values['warm-up']));
const CONNECTIONS = 32;
/** At most, in seconds: a slow database answers fewer requests in that time, which cost the same. */
const WARM_UP_SECONDS = 15;
const LOAD_SECONDS = 15;
const CREATION_SECONDS = 5;
const PETS = 500;
const CATEGORIES = 50;
const NO_LIMITS = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };

/** What one request of a kind costs. */
interface Cost {
  /** Processor time in microseconds. */
  time: number;
  commands: number;
  bytes: number;
}

const stop = await findMongo();
if (!process.env.TEST_MONGODB_URI) throw new Error('There is no MongoDB to measure with.');
const home = mkdtempSync(join(tmpdir(), 'petstore-costs-'));
const database = `costs-${process.pid}`;
const proxy = await countingProxy(mongoUri(database));
try {
  const file = join(home, 'petstore.db');
  const embedded = openSqliteStore({ file, role: 'server' });
  const embeddedKey = await fill(embedded);
  embedded.close();
  const store = await openMongoStore({ uri: mongoUri(database) });
  const key = await fill(store);
  await store.close();

  const onEmbedded = await costsOf({ DATA_FILE: file }, embeddedKey);
  const onMongo = await costsOf({ MONGODB_URI: proxy.uri }, key, proxy.traffic);
  const creations = [await creationsPerSecond(1, key), await creationsPerSecond(2, key)];

  console.log(
    `\nup to ${requests} requests of each kind after ${warmUp}, ${CONNECTIONS} connections, one key; processor time of the gateway in µs per request; commands and bytes per request to and from MongoDB\n`,
  );
  console.log('| request | embedded µs | MongoDB µs | commands | bytes |\n|---|--:|--:|--:|--:|');
  for (const { name, what } of WORKLOADS) {
    const { time, commands, bytes } = onMongo.get(name)!;
    const cells = [
      ...[onEmbedded.get(name)!.time.toFixed(0), time.toFixed(0)],
      ...[commands.toFixed(2), bytes.toFixed(0)],
    ];
    console.log(`| ${name} ${what} | ${cells.join(' | ')} |`);
  }
  console.log(
    `\nCreations per second in one category: ${creations[0]!.toFixed(0)} by one instance, ${creations[1]!.toFixed(0)} by two`,
  );
} finally {
  proxy.close();
  await dropDatabase(database);
  await stop();
  rmSync(home, { recursive: true, force: true });
}

/** @returns a key that no limit stops */
async function fill(store: Store): Promise<string> {
  for (let n = 1; n <= CATEGORIES; n++) await store.createCategory({ name: `Category ${n}` });
  const pet = (n: number) => ({
    name: `Pet ${n}`,
    categoryId: String((n % CATEGORIES) + 1),
    status: 'sold' as const,
  });
  for (let n = 0; n < PETS; n += CATEGORIES) {
    await Promise.all(Array.from({ length: CATEGORIES }, (_, i) => store.createPet(pet(n + i))));
  }
  const { key, apiKey } = newApiKey({
    name: 'costs',
    plan: 'enterprise',
    limits: NO_LIMITS,
    now: Date.now(),
  });
  await store.createApiKey(apiKey);
  return key;
}

/** What each kind of request costs a server of its own. */
async function costsOf(
  settings: Record<string, string>,
  key: string,
  traffic: () => Traffic = () => ({ commands: 0, bytes: 0 }),
): Promise<Map<string, Cost>> {
  const server = await startServer(settings);
  try {
    const costs = new Map<string, Cost>();
    for (const workload of WORKLOADS) {
      await load(server.url, workload, key, warmUp, WARM_UP_SECONDS);
      const before = await processorSeconds(server.url);
      traffic();
      const { answers } = await load(server.url, workload, key, requests, LOAD_SECONDS);
      const { commands, bytes } = traffic();
      const time = (((await processorSeconds(server.url)) - before) / answers) * 1e6;
      costs.set(workload.name, { time, commands: commands / answers, bytes: bytes / answers });
    }
    return costs;
  } finally {
    await end(server.child);
  }
}

async function creationsPerSecond(instances: number, key: string): Promise<number> {
  const creation = WORKLOADS.find(({ name }) => name === 'R3')!;
  const settings = { MONGODB_URI: mongoUri(database) };
  const servers = await Promise.all(Array.from({ length: instances }, () => startServer(settings)));
  try {
    const loads = servers.map(({ url }) => load(url, creation, key, 1_000_000, CREATION_SECONDS));
    return (await Promise.all(loads)).reduce((sum, { answers, seconds }) => sum + answers / seconds, 0);
  } finally {
    for (const { child } of servers) await end(child);
  }
}

async function startServer(settings: Record<string, string>): Promise<{ url: string; child: ChildProcess }> {
  const port = await freePort();
  const child = spawn(process.execPath, ['dist/main.js'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', PORT: String(port), SAMPLE_DATA: 'off', ...settings },
  });
  child.stdout.resume();
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const isReady = await fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { url, child };
    await sleep(20);
  }
  child.kill('SIGKILL');
  throw new Error('The server did not start.');
}

async function processorSeconds(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (.*)$/m.exec(text)?.[1]);
}

/** Sends so many requests, or as many as are answered in so many seconds. */
async function load(
  url: string,
  { path, body }: Workload,
  key: string,
  amount: number,
  seconds: number,
): Promise<{ answers: number; seconds: number }> {
  const began = performance.now();
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const instance = autocannon(
      {
        url: url + path,
        connections: CONNECTIONS,
        amount,
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body }),
      },
      (error: unknown, done: autocannon.Result) => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(done);
      },
    );
    const timer = setTimeout(() => instance.stop?.(), seconds * 1000);
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
  return { answers: result['2xx'], seconds: (performance.now() - began) / 1000 };
}

async function end(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}
