import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Receiver } from '../kit/receiver.ts';
import {
  conclude,
  cpuMilliseconds,
  machine,
  memoryOf,
  numbersOf,
  paced,
  post,
  problems,
  quantile,
  type RawRequest,
  send,
  startServer,
  temporaryFolder,
} from './harness.ts';
import { fillFile, seed, unlimitedKey } from './seed.ts';

/**
 * `npm run webhooks [-- --events 5000 --webhooks 20 --idle 1000 --seconds 10]`: what webhooks cost the built gateway with
 * the embedded store, and a receiver in this process. First the memory of idle webhooks. Then the time from the writing
 * call to the receipt at 20 and 200 events a second, beside the round trip of the call itself. Then webhooks that are
 * behind: attempts a second of one and of several, beside the same requests made one after the other by a bare client.
 * Exits with 1 if an event is lost, repeated or out of order. Linux only, because memory and CPU time are read from /proc.
 */
const { events, webhooks, idle, seconds } = numbersOf({
  events: [5_000, 100_000],
  webhooks: [20, 100],
  idle: [1_000, 1_000],
  seconds: [10, 60],
});
/** What a key may have. */
const PER_KEY = 100;

const file = join(temporaryFolder(), 'petstore.db');
const keys = await fillFile(file, async (store) => {
  const made = [await seed(store, 0)];
  while (made.length * PER_KEY < idle) made.push(await unlimitedKey(store));
  return made;
});

/** The names of the pets received, by path, and when. */
const received = new Map<string, { name: string; at: number }[]>();
const receiver = await Receiver.start();
receiver.answer = (request, response, { event, at }) => {
  response.writeHead(204).end();
  const path = request.url!;
  if (!received.has(path)) received.set(path, []);
  received.get(path)!.push({ name: event.data.name, at });
};
const receiverUrl = new URL(receiver.url).origin;
const server = await startServer({ DATA_FILE: file, WEBHOOK_ALLOW: '127.0.0.1' });
try {
  const start = await create('/start');
  await remove(start.id);
  await measureMemory();
  for (const rate of [20, 200]) await measureLatency(rate);
  await measureThroughput();
} finally {
  await receiver.close();
  await server.stop();
}
console.log(machine());
conclude();

/** Sends a request and resolves with the parsed response. */
async function call(
  request: RawRequest,
  key = keys[0]!,
  url = server.url,
): Promise<{ id: string; after: string }> {
  const { status, text } = await send(url, request, key);
  if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${text}`);
  return JSON.parse(text || '{}');
}

function create(path: string, more: object = {}, key?: string) {
  const url = receiverUrl + path;
  return call(post('/webhooks', { url, types: ['pet.created'], ...more }), key);
}

function remove(id: string, key?: string) {
  return call({ method: 'DELETE', path: `/webhooks/${id}` }, key);
}

/** Creates a pet with this name. */
function write(name: string) {
  return call(post('/pets', { name, categoryId: 7 }));
}

/** Waits until all of these paths have these events, and checks that each came once, in this order if it is known. */
async function arrived(paths: readonly string[], names: readonly string[], inOrder: boolean): Promise<void> {
  const list = (all: readonly string[]) => (inOrder ? all : all.toSorted()).join();
  for (const path of paths) {
    for (let waited = 0; (received.get(path)?.length ?? 0) < names.length && waited < 60_000; waited += 5)
      await sleep(5);
    const got = received.get(path)?.map(({ name }) => name) ?? [];
    if (list(got) !== list(names))
      problems.push(`${path}: ${got.length} of ${names.length} events, or out of order`);
  }
}

async function measureMemory(): Promise<void> {
  const before = memoryOf(server.child);
  const made: [id: string, key: string][] = [];
  for (let n = 0; n < idle; n++) {
    const key = keys[Math.floor(n / PER_KEY)]!;
    made.push([(await create(`/idle/${n}`, {}, key)).id, key]);
  }
  await sleep(2_000);
  const megabytes = memoryOf(server.child) - before;
  const cpu = cpuMilliseconds(server.child);
  await sleep(5_000);
  const share = (cpuMilliseconds(server.child) - cpu) / 50;
  console.log(`${idle} idle webhooks: ${megabytes.toFixed(1)} MB, ${share.toFixed(1)}% of a core`);
  for (const [id, key] of made) await remove(id, key);
}

async function measureLatency(rate: number): Promise<void> {
  const path = `/latency/${rate}`;
  const { id } = await create(path);
  await sleep(500);
  const sentAt: number[] = [];
  const roundTrips: number[] = [];
  const names = Array.from({ length: rate * seconds }, (_, n) => `${rate}-${n}`);
  await paced(rate, names.length, async (n) => {
    sentAt[n] = performance.now();
    await write(names[n]!);
    roundTrips.push(performance.now() - sentAt[n]!);
  });
  // Written at the same time, they may be committed in another order.
  await arrived([path], names, false);
  const latencies = received.get(path)!.map(({ name, at }) => at - sentAt[names.indexOf(name)]!);
  const show = (times: number[]) =>
    `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`;
  const ratio = quantile(latencies, 0.5) / quantile(roundTrips, 0.5);
  console.log(
    `${rate} events/s, from the writing call to the receipt: ${show(latencies)}; the call itself: ${show(roundTrips)}; ratio ${ratio.toFixed(2)}`,
  );
  await remove(id);
}

async function measureThroughput(): Promise<void> {
  const { id, after } = await create('/written');
  await remove(id);
  const names = Array.from({ length: events }, (_, n) => `T${n}`);
  for (const name of names) await write(name);
  const bare = await perSecond(async () => {
    const request = { ...post('/bare', ''), body: receiver.received.at(-1)!.body };
    for (let n = 0; n < events; n++) await call(request, '', receiverUrl);
  }, events);
  console.log(`a bare client, one request after the other: ${bare.rate.toFixed(0)}/s`);
  for (const count of [1, webhooks]) {
    const paths = Array.from({ length: count }, (_, n) => `/behind/${count}/${n}`);
    const made: string[] = [];
    const { rate, cpu } = await perSecond(async () => {
      for (const path of paths) made.push((await create(path, { after })).id);
      await arrived(paths, names, true);
    }, events * count);
    console.log(
      `${count} behind by ${events} events: ${rate.toFixed(0)} attempts/s, ${(rate / bare.rate).toFixed(2)} of the bare client, ${cpu.toFixed(3)} ms of CPU each; ${memoryOf(server.child).toFixed(0)} MB resident`,
    );
    for (const id of made) await remove(id);
  }
}

async function perSecond(
  work: () => Promise<unknown>,
  count: number,
): Promise<{ rate: number; cpu: number }> {
  const [began, cpu] = [performance.now(), cpuMilliseconds(server.child)];
  await work();
  return {
    rate: (count / (performance.now() - began)) * 1_000,
    cpu: (cpuMilliseconds(server.child) - cpu) / count,
  };
}
