import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import autocannon from 'autocannon';
import { META, standardHeaders } from '../kit/mcp.ts';
import {
  conclude,
  expectAtMost,
  machine,
  type MeasuredServer,
  median,
  memoryOf,
  numbersOf,
  post,
  processorTime,
  type RawRequest,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { seed } from './seed.ts';

/** One kind of request, about another record each time. */
interface Workload {
  what: string;
  /** What the same call is over REST, for one over MCP. */
  overRest?: string;
  /** @param id of the record that it is about, or that its page comes after */
  request(id: number): RawRequest;
}

const GRAPHQL_PET = 'query ($id: ID!) { pet(id: $id) { id name status } }';
const GRAPHQL_PAGE =
  'query ($after: String) { pets(first: 20, after: $after) { nodes { id name status category { id name } inventory { quantity } } } }';
const GRAPHQL_CATEGORIES =
  'query ($after: String) { categories(first: 50) { nodes { id name pets(first: 10, after: $after) { nodes { id name category { id name } } } } } }';

/** A call of a tool, as the official client sends it. */
const callOf = (name: string, args: object): RawRequest => {
  const params = { name, arguments: args, _meta: META };
  const call = post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return { ...call, headers: { ...call.headers, ...standardHeaders('tools/call', name) } };
};

const WORKLOADS: readonly Workload[] = [
  { what: 'GET one pet', request: (id) => ({ method: 'GET', path: `/pets/${id}` }) },
  {
    what: 'MCP: getPet',
    overRest: 'GET one pet',
    request: (id) => callOf('getPet', { petId: String(id) }),
  },
  { what: 'GET a page of 20', request: (id) => ({ method: 'GET', path: `/pets?limit=20&after=${id}` }) },
  {
    what: 'MCP: listPets',
    overRest: 'GET a page of 20',
    request: (id) => callOf('listPets', { limit: 20, after: String(id) }),
  },
  {
    what: 'POST a pet',
    request: () => post('/pets', { name: 'Bench pet', categoryId: 7, status: 'available' }),
  },
  {
    what: 'MCP: createPet',
    overRest: 'POST a pet',
    request: () => callOf('createPet', { name: 'Bench pet', categoryId: '7', status: 'available' }),
  },
  {
    what: 'query of one pet',
    request: (id) => post('/graphql', { query: GRAPHQL_PET, variables: { id } }),
  },
  {
    what: 'query of 20 pets with category and inventory',
    request: (id) => post('/graphql', { query: GRAPHQL_PAGE, variables: { after: String(id) } }),
  },
  {
    what: 'query of 50 categories with 10 pets each',
    request: (id) => post('/graphql', { query: GRAPHQL_CATEGORIES, variables: { after: String(id) } }),
  },
];

/** The processor time of a call over MCP, as a multiple of the same call over REST, is at most this. */
const MAX_MCP = 3;

const OTHERS: Readonly<Record<string, string>> = {
  growth: './growth.ts',
  load: './load.ts',
  log: './request-log.ts',
  start: './start.ts',
};
const other = OTHERS[process.argv[2] ?? ''];
if (other !== undefined) {
  process.argv.splice(2, 1);
  await import(other);
  process.exit();
}

/**
 * `npm run bench [-- --pets 200000 --keys 100 --rounds 3 --seconds 3 --hot 500]`: processor time and requests per second of
 * the built gateway with everything enabled on the embedded store, each round on a new copy of the same data; with
 * MONGODB_URI, on that database, which must be empty. Each request is about another record, by another key: of all, and
 * of the first 500, which stay cached. `--hot 1 --keys 1` compares with a request that is repeated.
 */
const { pets, keys, rounds, seconds, connections, hot } = numbersOf({
  pets: [200_000, 5_000_000],
  keys: [100, 1_000],
  rounds: [3, 10],
  seconds: [3, 30],
  connections: [32, 256],
  hot: [500, 5_000_000],
});
const mixes = { 'all records': pets - 100, [`the first ${hot}`]: Math.min(hot, pets - 100) };

const home = temporaryFolder();
console.error(`seeding ${pets} pets`);
const secrets = await seed(join(home, 'seed.db'), pets, keys);

/** @returns microseconds of processor time a request, and requests a second */
async function load({ url, child }: MeasuredServer, workload: Workload, ids: number, duration: number) {
  let turn = 0;
  const began = processorTime(child.pid!);
  const result = await autocannon({
    url,
    connections,
    duration,
    requests: [
      {
        setupRequest(request) {
          const { headers, ...next } = workload.request(1 + Math.floor(Math.random() * ids));
          const key = secrets[turn++ % keys]!;
          return {
            ...request,
            ...next,
            headers: { ...headers, accept: 'application/json', 'x-api-key': key },
          };
        },
      } as autocannon.Request,
    ],
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(
      `${workload.what}: ${result.non2xx} refused, ${result.errors} failed; the server ${child.signalCode ?? child.exitCode ?? 'runs'}`,
    );
  return {
    microseconds: (processorTime(child.pid!) - began) / result['2xx'],
    perSecond: result['2xx'] / result.duration,
  };
}

const isEmbedded = process.env.MONGODB_URI === undefined;
const samples = new Map<string, Awaited<ReturnType<typeof load>>[]>();
const memoryMB: number[] = [];
for (let round = 1; round <= rounds; round++) {
  const file = join(home, `${round}.db`);
  if (isEmbedded) copyFileSync(join(home, 'seed.db'), file);
  await withServer(isEmbedded ? { DATA_FILE: file } : {}, async (server) => {
    for (const [mix, ids] of Object.entries(mixes))
      for (const workload of WORKLOADS) {
        const name = `${workload.what}, ${mix}`;
        // Until the code is compiled, a request takes several times as long.
        await load(server, workload, ids, seconds);
        samples.set(name, [...(samples.get(name) ?? []), await load(server, workload, ids, seconds)]);
      }
    memoryMB.push(memoryOf(server.child));
  });
}

console.log(
  `\n${pets} pets, ${keys} keys, ${rounds} rounds of ${seconds} s, ${connections} connections, ${machine()}\n`,
);
const names = Object.keys(mixes);
console.log(`| µs of processor time a request (requests a second) | ${names.join(' | ')} |`);
console.log(`|---|${names.map(() => '--:|').join('')}`);
const medianOf = (what: string, mix: string, of: 'microseconds' | 'perSecond') =>
  median(samples.get(`${what}, ${mix}`)!.map((one) => one[of]));
for (const { what, overRest } of WORKLOADS) {
  const cells = names.map((mix) => {
    const time = medianOf(what, mix, 'microseconds');
    const cell = `${time.toFixed(0)} (${medianOf(what, mix, 'perSecond').toFixed(0)})`;
    if (overRest === undefined) return cell;
    const multiple = time / medianOf(overRest, mix, 'microseconds');
    expectAtMost(`${what}, ${mix}: multiple of REST`, multiple, MAX_MCP);
    return `${cell}, ${multiple.toFixed(1)} times REST`;
  });
  console.log(`| ${what} | ${cells.join(' | ')} |`);
}
console.log(`\n${median(memoryMB).toFixed(0)} MB of memory after the run`);
conclude();
