import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import type { CommandStartedEvent } from 'mongodb';
import { newApiKey } from '../../src/access/api-keys.ts';
import { type MongoStore, openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import { TestGateway } from '../kit/gateway.ts';
import findMongo, { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { WORKLOADS, type Workload } from './workloads.ts';

/**
 * `npm run costs [-- --requests 500]`: what one request costs on each engine: the commands that it sends to MongoDB, and
 * the processor time of the gateway, which doesn't depend on how fast the database is. Figures for the arithmetic of
 * README's "Growing". Looks for a MongoDB as the tests do.
 */
const { values } = parseArgs({ options: { requests: { type: 'string', default: '500' } } });
const requests = Math.min(20_000, Number(values.requests));
const PORT = 4171;
const PETS = 500;
const CATEGORIES = 50;
const NO_LIMITS = { perMinute: 2_000_000_000, perDay: 2_000_000_000 };

const stop = await findMongo();
if (!process.env.TEST_MONGODB_URI) throw new Error('There is no MongoDB to measure with.');
const home = mkdtempSync(join(tmpdir(), 'petstore-costs-'));
const database = `costs-${process.pid}`;
const uri = mongoUri(database);
try {
  const embedded = openSqliteStore({ file: join(home, 'petstore.db'), role: 'server' });
  const embeddedKey = await fill(embedded);
  embedded.close();
  const store = await openMongoStore({ uri, monitorCommands: true });
  const key = await fill(store);
  const commands = await commandsOf(store);
  const onEmbedded = await timesOf({ DATA_FILE: join(home, 'petstore.db') }, embeddedKey);
  const onMongo = await timesOf({ MONGODB_URI: uri }, key);
  await store.close();
  console.log(`\n${requests} requests each; microseconds of processor time of the gateway per request\n`);
  console.log('| request | embedded | MongoDB | ratio | commands to MongoDB |\n|---|--:|--:|--:|---|');
  for (const { name, what } of WORKLOADS) {
    const [base, time] = [onEmbedded.get(name)!, onMongo.get(name)!];
    const ratio = (time / base).toFixed(1);
    console.log(
      `| ${name} ${what} | ${base.toFixed(0)} | ${time.toFixed(0)} | ${ratio} | ${commands.get(name)} |`,
    );
  }
} finally {
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

/** The names of the commands that one request of each kind sends, once the key is known. */
async function commandsOf(store: MongoStore): Promise<Map<string, string>> {
  const gateway = await TestGateway.start(store);
  const names: string[] = [];
  store.client.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
    const target = command[commandName];
    names.push(typeof target === 'string' ? `${commandName} ${target}` : commandName);
  });
  const found = new Map<string, string>();
  for (const { name, path, body } of WORKLOADS) {
    const call = { ...(body !== undefined && { method: 'POST', body: JSON.parse(body) }) };
    for (let i = 0; i < 2; i++) {
      names.length = 0;
      const { status, text } = await gateway.call(path, call);
      if (status >= 300) throw new Error(`${path}: ${status} ${text}`);
    }
    found.set(name, names.join(', '));
  }
  await gateway.close();
  return found;
}

/** Microseconds per request of each kind, on a server of its own. */
async function timesOf(settings: Record<string, string>, key: string): Promise<Map<string, number>> {
  const child = spawn(process.execPath, ['dist/main.js'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_ENV: 'production', PORT: String(PORT), ...settings },
  });
  child.stdout.resume();
  try {
    await ready();
    const times = new Map<string, number>();
    for (const workload of WORKLOADS) {
      await load(workload, key, Math.ceil(requests / 2));
      const before = await processorSeconds();
      await load(workload, key, requests);
      times.set(workload.name, (((await processorSeconds()) - before) / requests) * 1e6);
    }
    return times;
  } finally {
    await end(child);
  }
}

async function ready(): Promise<void> {
  for (let attempt = 0; attempt < 1_000; attempt++) {
    const ok = await fetch(`http://127.0.0.1:${PORT}/health/ready`).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await sleep(20);
  }
  throw new Error('The server did not start.');
}

async function processorSeconds(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${PORT}/metrics`)).text();
  return Number(/^process_cpu_seconds_total (.*)$/m.exec(text)?.[1]);
}

async function load({ path, body }: Workload, key: string, amount: number): Promise<void> {
  const result = await autocannon({
    url: `http://127.0.0.1:${PORT}${path}`,
    connections: 8,
    amount,
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'x-api-key': key, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body }),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
}

async function end(child: ChildProcess): Promise<void> {
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await exited;
}
