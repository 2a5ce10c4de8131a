import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { machine, median, memoryOf, numbersOf, temporaryFolder, withServer } from './harness.ts';
import { seed } from './seed.ts';

/** One kind of request, repeated. */
interface Workload {
  name: string;
  what: string;
  path: string;
  body?: string;
}

const graphql = (name: string, what: string, query: string): Workload => ({
  name,
  what,
  path: '/graphql',
  body: JSON.stringify({ query }),
});

const WORKLOADS: Workload[] = [
  graphql('G1', 'query of one pet', '{ pet(id: "42") { id name status } }'),
  graphql(
    'G2',
    'query of 20 pets with category and inventory',
    '{ pets(first: 20) { nodes { id name status category { id name } inventory { quantity } } } }',
  ),
  graphql(
    'G3',
    'query of 50 categories with 10 pets each',
    '{ categories(first: 50) { nodes { id name pets(first: 10) { nodes { id name category { id name } } } } } }',
  ),
  { name: 'R1', what: 'GET one pet', path: '/pets/42' },
  { name: 'R2', what: 'GET a page of 20', path: '/pets?limit=20' },
  {
    name: 'R3',
    what: 'POST a pet',
    path: '/pets',
    body: '{"name":"Bench pet","categoryId":7,"status":"available"}',
  },
];

if (process.argv[2] === 'load') {
  process.argv.splice(2, 1);
  await import('./load.ts');
  process.exit();
}

/**
 * `npm run bench [-- --pets 10000 --rounds 3 --seconds 4]`: requests per second of the built gateway with everything
 * enabled on the embedded store, each on a new copy of the same data, as a table and as JSON.
 */
const { pets, rounds, seconds, connections } = numbersOf({
  pets: [10_000, 1_000_000],
  rounds: [3, 10],
  seconds: [4, 30],
  connections: [32, 256],
});

const home = temporaryFolder();
console.error(`seeding ${pets} pets`);
const key = await seed(join(home, 'seed.db'), pets);

/** Repeats a request over several connections for some seconds. @returns the number of responses a second */
async function load(url: string, { path, body }: Workload, duration: number): Promise<number> {
  const json = body !== undefined && { method: 'POST' as const, body };
  const headers = {
    'x-api-key': key,
    accept: 'application/json',
    ...(json && { 'content-type': 'application/json' }),
  };
  const result = await autocannon({ url: url + path, connections, duration, headers, ...json });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
  return result['2xx'] / result.duration;
}

const samples = new Map<string, number[]>(WORKLOADS.map(({ name }) => [name, []]));
const startMs: number[] = [];
const memoryMB: number[] = [];
for (let round = 1; round <= rounds; round++) {
  const file = join(home, `${round}.db`);
  copyFileSync(join(home, 'seed.db'), file);
  const began = performance.now();
  await withServer({ DATA_FILE: file }, async ({ url, child }) => {
    startMs.push(performance.now() - began);
    for (const workload of WORKLOADS) {
      await load(url, workload, 1);
      samples.get(workload.name)!.push(await load(url, workload, seconds));
    }
    memoryMB.push(memoryOf(child));
  });
}

const rows = WORKLOADS.map(({ name, what }) => {
  const rates = samples.get(name)!;
  const spread = (Math.max(...rates) - Math.min(...rates)) / median(rates);
  return { name, what, perSecond: Math.round(median(rates)), spread: Number(spread.toFixed(2)) };
});
console.log(`\n${pets} pets, ${rounds} rounds of ${seconds} s, ${connections} connections, ${machine()}\n`);
console.log('| workload | description | requests/s | spread |\n|---|---|--:|--:|');
for (const { name, what, perSecond, spread } of rows)
  console.log(`| ${name} | ${what} | ${perSecond} | ${Math.round(spread * 100)}% |`);
const [ready, memory] = [startMs, memoryMB].map((all) => Math.round(median(all)));
console.log(`\nready ${ready} ms after the start, ${memory} MB of memory after the run\n`);
console.log(JSON.stringify({ pets, rounds, seconds, connections, rows, startMs: ready, memoryMB: memory }));
