import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Store } from '../../src/store/store.ts';
import findMongo, { dropDatabase, freePort, mongoUri } from '../kit/mongo.ts';
import { countingProxy, type Traffic } from './counting-proxy.ts';
import { load } from './load.ts';
import { release, unlimitedKey } from './seed.ts';
import { cpuMilliseconds, type MeasuredServer, median, startServer } from './server.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run costs [-- --requests 5000 --warm-up 10000]`: the cost of a request on each engine once the code is warm: the
 * CPU time of the gateway, which does not depend on the speed of the database, and the commands and bytes exchanged with
 * MongoDB. Then how much of their work is done for clients that leave before they are answered, which may be a quarter, and
 * how many pets per second one and two instances create in one category, which does depend on it. The
 * figures are for docs/growing.md. Finds a MongoDB in the same way as the tests.
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
/** At most, in seconds. A slow database handles fewer requests in that time, at the same cost. */
const WARM_UP_SECONDS = 6;
const LOAD_SECONDS = 6;
const CREATION_SECONDS = 5;
/** Requests of 50 units whose clients leave, when they do, in milliseconds, and how much of the work may be done. */
const LEAVING = 40;
const LEAVE_AFTER = 15;
const MAX_SHARE = 0.25;
const PETS = 500;
const CATEGORIES = 50;

/** The cost of one request of a kind. */
interface Cost {
  /** CPU time in microseconds. */
  time: number;
  commands: number;
  bytes: number;
}

const stop = await findMongo();
// Its first step ends the process, which must not outlive this one if it is interrupted.
process.on('exit', () => void stop());
if (!process.env.TEST_MONGODB_URI) throw new Error('There is no MongoDB to measure with.');
const home = mkdtempSync(join(tmpdir(), 'petstore-costs-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const database = `costs-${process.pid}`;
const proxy = await countingProxy(mongoUri(database));
try {
  const file = join(home, 'petstore.db');
  const embedded = openSqliteStore({ records: RECORDS, file: `${file}.seed`, role: 'server' });
  const embeddedKey = await fill(embedded);
  embedded.close();
  release(`${file}.seed`, file);
  const store = await openMongoStore({ records: RECORDS, uri: mongoUri(database) });
  const key = await fill(store);
  await store.close();

  const embeddedCosts = await costsOf({ DATA_FILE: file }, embeddedKey);
  const mongoCosts = await costsOf({ MONGODB_URI: proxy.uri }, key, proxy.traffic);
  const shares = [
    await shareForLeaving({ DATA_FILE: file }, embeddedKey),
    await shareForLeaving({ MONGODB_URI: mongoUri(database) }, key),
  ];
  const creations = [await creationsPerSecond(1, key), await creationsPerSecond(2, key)];

  console.log(
    `\nup to ${requests} requests of each kind after ${warmUp} to warm up, ${CONNECTIONS} connections, one key; CPU time of the gateway in µs per request; commands to MongoDB and bytes exchanged with it per request\n`,
  );
  console.log('| request | embedded µs | MongoDB µs | commands | bytes |\n|---|--:|--:|--:|--:|');
  for (const { name, what } of WORKLOADS) {
    const { time, commands, bytes } = mongoCosts.get(name)!;
    const cells = [
      ...[embeddedCosts.get(name)!.time.toFixed(0), time.toFixed(0)],
      ...[commands.toFixed(2), bytes.toFixed(0)],
    ];
    console.log(`| ${name} ${what} | ${cells.join(' | ')} |`);
  }
  const [embeddedShare, mongoShare] = shares.map((share) => `${(100 * share).toFixed(0)} %`);
  console.log(
    `\nWork done for ${LEAVING} clients that leave after ${LEAVE_AFTER} ms: ${embeddedShare} embedded, ${mongoShare} with MongoDB (at most ${100 * MAX_SHARE} %)`,
  );
  if (Math.max(...shares) > MAX_SHARE) process.exitCode = 1;
  console.log(
    `\nCreations per second in one category: ${creations[0]!.toFixed(0)} with one instance, ${creations[1]!.toFixed(0)} with two`,
  );
} finally {
  proxy.close();
  await dropDatabase(database);
  await stop();
}

/** @returns a key without effective limits */
async function fill(store: Store): Promise<string> {
  for (let n = 1; n <= CATEGORIES; n++) await store.table(Category).insert({ name: `Category ${n}` });
  const pet = (n: number) => ({
    name: `Pet ${n}`,
    categoryId: String((n % CATEGORIES) + 1),
    status: 'sold' as const,
  });
  for (let n = 0; n < PETS; n += CATEGORIES) {
    await Promise.all(Array.from({ length: CATEGORIES }, (_, i) => store.table(Pet).insert(pet(n + i))));
  }
  return await unlimitedKey(store);
}

/** The cost of each kind of request on a new server. */
async function costsOf(
  settings: Record<string, string>,
  key: string,
  traffic: () => Traffic = () => ({ commands: 0, bytes: 0 }),
): Promise<Map<string, Cost>> {
  const server = await startGateway(settings);
  try {
    const costs = new Map<string, Cost>();
    for (const workload of WORKLOADS) {
      const send = (amount: number, maxSeconds: number) =>
        load(server.url, workload, key, { connections: CONNECTIONS, amount, maxSeconds });
      await send(warmUp, WARM_UP_SECONDS);
      const before = cpuMilliseconds(server.child);
      traffic();
      const { responses } = await send(requests, LOAD_SECONDS);
      const { commands, bytes } = traffic();
      const time = ((cpuMilliseconds(server.child) - before) / responses) * 1_000;
      costs.set(workload.name, { time, commands: commands / responses, bytes: bytes / responses });
    }
    return costs;
  } finally {
    await server.stop();
  }
}

/** The CPU time of requests whose clients leave, as a share of that of the same requests answered. */
async function shareForLeaving(settings: Record<string, string>, key: string): Promise<number> {
  const server = await startGateway(settings);
  const fields = Array.from({ length: 24 }, (_, n) => `a${n}: id`).join(' ');
  let sent = 0;
  const send = async (leaveAfter?: number): Promise<void> => {
    const query = `{ categories(first: 50) { nodes { pets(first: 99) { nodes { ${fields} } } } } } #${sent++}`;
    const request = fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      ...(leaveAfter !== undefined && { signal: AbortSignal.timeout(leaveAfter) }),
    });
    await request.then((response) => response.text()).catch(() => {});
  };
  const spentBy = async (leaveAfter?: number): Promise<number> => {
    const before = cpuMilliseconds(server.child);
    await Promise.all(Array.from({ length: LEAVING }, () => send(leaveAfter)));
    // What is not ended goes on.
    for (let spent = -1; spent < cpuMilliseconds(server.child) - 5; await sleep(300))
      spent = cpuMilliseconds(server.child);
    return cpuMilliseconds(server.child) - before;
  };
  try {
    for (let n = 0; n < 3; n++) await spentBy();
    const ratios: number[] = [];
    for (let n = 0; n < 5; n++) ratios.push((await spentBy(LEAVE_AFTER)) / (await spentBy()));
    return median(ratios);
  } finally {
    await server.stop();
  }
}

async function creationsPerSecond(instances: number, key: string): Promise<number> {
  const creation = WORKLOADS.find(({ name }) => name === 'R3')!;
  const settings = { MONGODB_URI: mongoUri(database) };
  const servers = await Promise.all(Array.from({ length: instances }, () => startGateway(settings)));
  try {
    const loads = servers.map(({ url }) =>
      load(url, creation, key, { connections: CONNECTIONS, duration: CREATION_SECONDS }),
    );
    return (await Promise.all(loads)).reduce((sum, { responses, seconds }) => sum + responses / seconds, 0);
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function startGateway(settings: Record<string, string>): Promise<MeasuredServer> {
  return startServer(['dist/main.js'], await freePort(), settings);
}
