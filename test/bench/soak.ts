import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { newApiKey } from '../../src/access/api-keys.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { seed } from './seed.ts';
import { memoryOf, startServer } from './server.ts';

/**
 * `npm run soak [-- --minutes 10 --rate 100]`: mixed load at a bounded rate on the built gateway. Fails on any 5xx, on an
 * exceeded limit, and if the memory still grows after the first fifth of the time.
 */
const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, rate: { type: 'string', default: '100' } },
});
const minutes = Math.min(60, Number(values.minutes));
const rate = Math.min(500, Number(values.rate));
const PORT = 4180;
/** Leaves room for garbage. Growth beyond this is a leak. */
const MAX_GROWTH = 1.3;

const home = mkdtempSync(join(tmpdir(), 'petstore-soak-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
const file = join(home, 'petstore.db');
const key = await seed(file, 10_000);
const limitedKey = addLimitedKey();

const server = await startServer(['dist/main.js'], PORT, { DATA_FILE: file });
process.on('exit', () => server.child.kill('SIGKILL'));

const agent = new Agent({ keepAlive: true, maxSockets: 32 });
const counts: Record<string, number> = {};
let limitedPassed = 0;
const graphql = (query: string) => ({ method: 'POST', path: '/graphql', body: JSON.stringify({ query }) });
const MIX = [
  () => ({ path: `/pets/${1 + Math.floor(Math.random() * 12_000)}` }),
  () => ({ path: `/pets?limit=20&after=${Math.floor(Math.random() * 10_000)}&status=sold` }),
  () => ({ path: '/categories/7/pets?limit=50' }),
  () => ({ method: 'POST', path: '/pets', body: '{"name":"Soak","categoryId":7}' }),
  () => ({
    method: 'POST',
    path: '/store/orders',
    body: `{"petId":${1 + Math.floor(Math.random() * 10_000)},"quantity":2}`,
  }),
  () => ({
    method: 'PATCH',
    path: `/store/inventory/${1 + Math.floor(Math.random() * 10_000)}`,
    body: '{"quantity":5}',
  }),
  () => ({ method: 'POST', path: '/pets', body: '{"name":"","categoryId":"7","nope":1}' }),
  () => ({ path: '/nope' }),
  () =>
    graphql(
      '{ categories(first: 10) { nodes { name pets(first: 5) { nodes { name category { name } orders { totalCount } } } } } }',
    ),
  // Each document is different, so that the document caches must evict some.
  () =>
    graphql(
      `{ pet(id: ${1 + Math.floor(Math.random() * 10_000)}) { a${Math.floor(Math.random() * 1e9)}: name } }`,
    ),
  () => graphql('{ nope }'),
];

const ends = Date.now() + minutes * 60_000;
const memory: number[] = [];
const inFlight = new Set<Promise<void>>();
let sent = 0;
const began = Date.now();
let nextLimited = began;
let nextMemory = began;
while (Date.now() < ends) {
  const due = Math.floor(((Date.now() - began) / 1000) * rate);
  for (; sent < due; sent++) track(send(MIX[sent % MIX.length]!(), key));
  if (Date.now() >= nextLimited) {
    // 144 calls per minute on a key with a limit of 60.
    for (let i = 0; i < 12; i++)
      track(send({ path: '/pets/1' }, limitedKey).then((status) => void (status === 200 && limitedPassed++)));
    nextLimited += 5_000;
  }
  if (Date.now() >= nextMemory) {
    memory.push(memoryOf(server.child));
    nextMemory += 5_000;
  }
  await sleep(5);
}
await Promise.all(inFlight);
report();

function track(call: Promise<unknown>): void {
  const tracked = call.then(
    () => {},
    (error: Error) => {
      counts[error.message] = (counts[error.message] ?? 0) + 1;
    },
  );
  inFlight.add(tracked);
  void tracked.then(() => inFlight.delete(tracked));
}

function send(call: { method?: string; path: string; body?: string }, apiKey: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: PORT,
        agent,
        method: call.method ?? 'GET',
        path: call.path,
        headers: {
          'x-api-key': apiKey,
          ...(call.body !== undefined && { 'content-type': 'application/json' }),
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => {
          const status = response.statusCode!;
          counts[status] = (counts[status] ?? 0) + 1;
          resolve(status);
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(call.body);
  });
}

function addLimitedKey(): string {
  const store = openSqliteStore({ records: RECORDS, file, role: 'tool' });
  const limits = { perMinute: 60, perDay: 1_000_000 };
  const { key: limited, apiKey } = newApiKey({
    name: 'limited',
    plan: 'enterprise',
    limits,
    now: Date.now(),
  });
  store.createApiKey(apiKey);
  store.close();
  return limited;
}

function report(): void {
  const warm = memory.slice(Math.floor(memory.length / 5), Math.floor(memory.length / 5) + 3);
  const warmMB = warm.reduce((sum, value) => sum + value, 0) / warm.length;
  const endMB = memory.slice(-3).reduce((sum, value) => sum + value, 0) / 3;
  const windows = Math.ceil(minutes);
  const failures = Object.entries(counts).filter(([status]) => !/^[234]\d\d$/.test(status));
  console.log(
    JSON.stringify({
      minutes,
      rate,
      sent,
      counts,
      limitedPassed,
      warmMB: Math.round(warmMB),
      endMB: Math.round(endMB),
    }),
  );
  const problems = [
    ...failures.map(([what, n]) => `${what}: ${n} times`),
    ...(limitedPassed > (windows + 1) * 60
      ? [`the limited key passed ${limitedPassed} times in ${windows} windows of 60`]
      : []),
    ...(endMB > warmMB * MAX_GROWTH
      ? [`memory grew from ${Math.round(warmMB)} to ${Math.round(endMB)} MB`]
      : []),
  ];
  console.log(problems.length === 0 ? 'passed' : problems.join('\n'));
  process.exit(problems.length === 0 ? 0 : 1);
}
