import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RECORDS } from '../../src/domains/index.ts';
import { openMongoStore } from '../../src/store/mongo/mongo-store.ts';
import findMongo, { dropDatabase, mongoUri } from '../kit/mongo.ts';
import { countingProxy, type Traffic } from './counting-proxy.ts';
import {
  aliases,
  conclude,
  cpuMilliseconds,
  expectAtMost,
  median,
  numbersOf,
  post,
  startServer,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { load } from './load.ts';
import { fillFile, seed } from './seed.ts';
import { WORKLOADS } from './workloads.ts';

/**
 * `npm run costs [-- --requests 5000 --warm-up 10000]`: the cost of a request on each engine once the code is warm: the
 * CPU time of the gateway, which does not depend on the speed of the database, and the commands and bytes exchanged with
 * MongoDB. Then how much of their work is done for clients that leave before they are answered, which may be a quarter, and
 * how many pets per second one and two instances create in one category, which does depend on it. The
 * figures are for docs/growing.md. Finds a MongoDB in the same way as the tests.
 */
const { requests, 'warm-up': warmUp } = numbersOf({
  requests: [5_000, 50_000],
  'warm-up': [10_000, 50_000],
});
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
const database = `costs-${process.pid}`;
const proxy = await countingProxy(mongoUri(database));
try {
  const file = join(temporaryFolder(), 'petstore.db');
  const embeddedKey = await fillFile(file, (store) => seed(store, PETS));
  const store = await openMongoStore({ records: RECORDS, uri: mongoUri(database) });
  const key = await seed(store, PETS);
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
  expectAtMost('share of the work done for clients that leave', Math.max(...shares), MAX_SHARE);
  console.log(
    `\nCreations per second in one category: ${creations[0]!.toFixed(0)} with one instance, ${creations[1]!.toFixed(0)} with two`,
  );
} finally {
  proxy.close();
  await dropDatabase(database);
  await stop();
}
conclude();

/** The cost of each kind of request on a new server. */
function costsOf(
  settings: Record<string, string>,
  key: string,
  traffic: () => Traffic = () => ({ commands: 0, bytes: 0 }),
): Promise<Map<string, Cost>> {
  return withServer(settings, async ({ url, child }) => {
    const costs = new Map<string, Cost>();
    for (const workload of WORKLOADS) {
      const send = (amount: number, maxSeconds: number) =>
        load(url, workload, key, { connections: CONNECTIONS, amount, maxSeconds });
      await send(warmUp, WARM_UP_SECONDS);
      const before = cpuMilliseconds(child);
      traffic();
      const { responses } = await send(requests, LOAD_SECONDS);
      const { commands, bytes } = traffic();
      const time = ((cpuMilliseconds(child) - before) / responses) * 1_000;
      costs.set(workload.name, { time, commands: commands / responses, bytes: bytes / responses });
    }
    return costs;
  });
}

/** The CPU time of requests whose clients leave, as a share of that of the same requests answered. */
function shareForLeaving(settings: Record<string, string>, key: string): Promise<number> {
  return withServer(settings, async ({ url, child }) => {
    const fields = aliases(24, 'id');
    let sent = 0;
    const send = async (leaveAfter?: number): Promise<void> => {
      const query = `{ categories(first: 50) { nodes { pets(first: 99) { nodes { ${fields} } } } } } #${sent++}`;
      const { path, headers, ...request } = post('/graphql', { query });
      await fetch(url + path, {
        ...request,
        headers: { ...headers, 'x-api-key': key },
        ...(leaveAfter !== undefined && { signal: AbortSignal.timeout(leaveAfter) }),
      })
        .then((response) => response.text())
        .catch(() => {});
    };
    const spentBy = async (leaveAfter?: number): Promise<number> => {
      const before = cpuMilliseconds(child);
      await Promise.all(Array.from({ length: LEAVING }, () => send(leaveAfter)));
      // What is not ended goes on.
      for (let spent = -1; spent < cpuMilliseconds(child) - 5; await sleep(300))
        spent = cpuMilliseconds(child);
      return cpuMilliseconds(child) - before;
    };
    for (let n = 0; n < 3; n++) await spentBy();
    const ratios: number[] = [];
    for (let n = 0; n < 5; n++) ratios.push((await spentBy(LEAVE_AFTER)) / (await spentBy()));
    return median(ratios);
  });
}

async function creationsPerSecond(instances: number, key: string): Promise<number> {
  const creation = WORKLOADS.find(({ name }) => name === 'R3')!;
  const settings = { MONGODB_URI: mongoUri(database) };
  const servers = await Promise.all(Array.from({ length: instances }, () => startServer(settings)));
  try {
    const loads = servers.map(({ url }) =>
      load(url, creation, key, { connections: CONNECTIONS, duration: CREATION_SECONDS }),
    );
    return (await Promise.all(loads)).reduce((sum, { responses, seconds }) => sum + responses / seconds, 0);
  } finally {
    for (const server of servers) await server.stop();
  }
}
