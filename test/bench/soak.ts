import { join } from 'node:path';
import {
  conclude,
  expectAtMost,
  get,
  memoryOf,
  numbersOf,
  paced,
  post,
  problems,
  type RawRequest,
  send,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { fillFile, seed, unlimitedKey } from './seed.ts';

/**
 * `npm run soak [-- --minutes 10 --rate 100]`: mixed load at a bounded rate on the built gateway. Fails on any 5xx, on an
 * exceeded limit, and if the memory still grows after the first fifth of the time.
 */
const { minutes, rate } = numbersOf({ minutes: [10, 60], rate: [100, 500] });
/** Leaves room for garbage. Growth beyond this is a leak. */
const MAX_GROWTH = 1.3;
/** Calls of the limited key in one go, and the seconds between them: more than it may make in a minute. */
const [LIMITED_CALLS, PAUSE] = [12, 5];
const LIMIT = 60;

const file = join(temporaryFolder(), 'petstore.db');
const [key, limitedKey] = await fillFile(file, async (store) => [
  await seed(store, 10_000),
  await unlimitedKey(store, { perMinute: LIMIT, perDay: 1_000_000 }),
]);

const some = (below: number) => 1 + Math.floor(Math.random() * below);
const graphql = (query: string) => post('/graphql', { query });
const MIX: (() => RawRequest)[] = [
  () => get(`/pets/${some(12_000)}`),
  () => get(`/pets?limit=20&after=${some(10_000)}&status=sold`),
  () => get('/categories/7/pets?limit=50'),
  () => post('/pets', { name: 'Soak', categoryId: 7 }),
  () => post('/store/orders', { petId: some(10_000), quantity: 2 }),
  () => ({ ...post(`/store/inventory/${some(10_000)}`, { quantity: 5 }), method: 'PATCH' }),
  () => post('/pets', { name: '', categoryId: '7', nope: 1 }),
  () => get('/nope'),
  () =>
    graphql(
      '{ categories(first: 10) { nodes { name pets(first: 5) { nodes { name category { name } orders { totalCount } } } } } }',
    ),
  // Each document is different, so that the document caches must evict some.
  () => graphql(`{ pet(id: ${some(10_000)}) { a${some(1e9)}: name } }`),
  () => graphql('{ nope }'),
];

const counts: Record<string, number> = {};
let limitedPassed = 0;
const memory: number[] = [];
await withServer({ DATA_FILE: file }, async ({ url, child }) => {
  const call = async (request: RawRequest, apiKey: string): Promise<number> => {
    const what = await send(url, request, apiKey).then(({ status }) => status, String);
    counts[what] = (counts[what] ?? 0) + 1;
    return Number(what);
  };
  const steps = Math.ceil((minutes * 60) / PAUSE);
  await Promise.all([
    paced(rate, minutes * 60 * rate, (n) => call(MIX[n % MIX.length]!(), key)),
    paced(1 / PAUSE, steps, async () => {
      memory.push(memoryOf(child));
      const calls = Array.from({ length: LIMITED_CALLS }, () => call(get('/pets/1'), limitedKey));
      limitedPassed += (await Promise.all(calls)).filter((status) => status === 200).length;
    }),
  ]);
});

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const warm = Math.floor(memory.length / 5);
const [warmMB, endMB] = [memory.slice(warm, warm + 3), memory.slice(-3)].map(mean) as [number, number];
const figures = { warmMB: Math.round(warmMB), endMB: Math.round(endMB) };
console.log(JSON.stringify({ minutes, rate, counts, limitedPassed, ...figures }));
for (const [what, count] of Object.entries(counts))
  if (!/^[234]\d\d$/.test(what)) problems.push(`${what}: ${count} times`);
expectAtMost('calls of the limited key that passed', limitedPassed, (Math.ceil(minutes) + 1) * LIMIT);
expectAtMost('memory at the end relative to that after a fifth of the time', endMB / warmMB, MAX_GROWTH);
conclude();
