import { execFile } from 'node:child_process';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import autocannon from 'autocannon';
import { openDatabase } from '../../src/store/sqlite/connection.ts';
import * as harness from './harness.ts';
import { seed } from './seed.ts';

/**
 * `npm run bench -- growth [--pets 5000000 --seconds 20 --only counts,writes,backup,ids]`: what a large embedded store
 * costs and holds up, with limits: counts, and what a GET waits beside them; writes and deep pages beside those of smaller
 * stores; writes beside a long reader and a backup; the first assigned id after chosen ones.
 */
const { values } = parseArgs({
  options: {
    pets: { type: 'string', default: '5000000' },
    seconds: { type: 'string', default: '20' },
    only: { type: 'string', default: 'counts,writes,backup,ids' },
  },
});
const [pets, seconds] = [Number(values.pets), Number(values.seconds)];
/** The seconds of a sample, the median of which counts: a moment in which the machine is busy does not decide. */
const SLICE = Math.max(0.4, seconds / 7);
const ROUNDS = 3;
const CATEGORIES = 100;
/** The number of requests in progress. */
const CLIENTS = 8;

const home = harness.temporaryFolder();
const seeded: Record<number, Promise<string[]>> = {};
type Server = harness.MeasuredServer & Record<'file' | 'key', string>;

/**
 * Starts a server on the file with so many pets, which is made the first time. It then answers POSTs for a {@link SLICE}:
 * compiling code for the first ones, and opening connections, takes longer than anything that is measured.
 */
async function serving(size: number, work: (server: Server) => Promise<unknown>): Promise<void> {
  const file = join(home, `${size}.db`);
  const [key] = await (seeded[size] ??= seed(file, size, 1, CATEGORIES));
  const warmedUp = (started: harness.MeasuredServer, server = { ...started, file, key: key! }) =>
    paced(server, 500, POST, SLICE).then(() => work(server));
  await harness.withServer({ DATA_FILE: file }, warmedUp, ['--import', './test/bench/watch.mjs']);
}

async function answer({ url, key }: Server, request: harness.RawRequest): Promise<string> {
  const { status, text } = await harness.send(url, request, key);
  if (status >= 300 || text.startsWith('{"errors"')) throw new Error(`${request.path}: ${status} ${text}`);
  return text;
}

const random = (most: number) => 1 + Math.floor(Math.random() * most);
const get = (path: string): harness.RawRequest => ({ method: 'GET', path });
const graphql = (query: string, variables?: object) => harness.post('/graphql', { query, variables });
const totalOf = (filter: object, list = 'pets', type = 'PetFilter') =>
  graphql(`query ($filter: ${type}) { ${list}(first: 1, filter: $filter) { totalCount } }`, { filter });
const groupsOf = (filter: object) =>
  graphql('query ($filter: PetFilter) { petCounts(by: [status], filter: $filter) { status count } }', {
    filter,
  });

const COUNTS: Readonly<Record<string, () => harness.RawRequest>> = {
  'all pets': () => totalOf({}),
  'pets of two statuses': () => totalOf({ status: ['available', 'sold'] }),
  'pets of a category': () => totalOf({ categoryId: random(CATEGORIES) }),
  'pets of a status and a category': () => totalOf({ status: 'sold', categoryId: random(CATEGORIES) }),
  'pets by status': () => get('/pets/counts?by=status'),
  'pets by status and category': () =>
    graphql('{ petCounts(by: [status, categoryId]) { status categoryId count } }'),
  'pets in 100 categories, with 10 of each': () =>
    graphql('{ categories(first: 100) { nodes { name pets(first: 10) { totalCount nodes { id name } } } } }'),
  'pets of a name': () => totalOf({ name: `dog ${random(pets)}` }),
  'pets of a name, by status': () => groupsOf({ name: `dog ${random(pets)}` }),
  'a fifth of all pets, by name': () => totalOf({ name: 'dog' }),
  'a tenth of the stock, by quantity': () =>
    totalOf({ quantity: { min: 20, max: 29 } }, 'inventory', 'InventoryFilter'),
};
const GET = () => get(`/pets/${random(pets)}`);
const POST = () => harness.post('/pets', { name: `Bench ${random(1e9)}`, categoryId: random(CATEGORIES) });

/** Prints a figure. @param limit its maximum, if it has one */
function row(what: string, figure: number, limit = Infinity): void {
  console.log(`| ${what} | ${figure.toFixed(figure < 10 ? 2 : 0)} | ${limit === Infinity ? '' : limit} |`);
  harness.expectAtMost(what, figure, limit);
}

/**
 * Keeps sending requests for a {@link SLICE}, from another thread: answers to others need not wait for this one.
 *
 * @returns microseconds of the server's processor time for each
 */
async function costOf(server: Server, request: () => harness.RawRequest): Promise<number> {
  await answer(server, request());
  const before = harness.processorTime(server.child.pid!);
  const result = await autocannon({
    url: server.url,
    connections: CLIENTS,
    duration: SLICE,
    workers: 1,
    headers: { 'x-api-key': server.key },
    requests: Array.from({ length: 500 }, request) as autocannon.Request[],
  });
  if (result.non2xx + result.errors > 0) throw new Error(`${result.non2xx} refused, ${result.errors} failed`);
  return (harness.processorTime(server.child.pid!) - before) / result['2xx'];
}

/**
 * Sends requests at a rate, whether or not earlier ones are answered.
 *
 * @param until what they are sent beside, or seconds
 * @returns milliseconds to each answer, ascending
 */
async function paced(
  server: Server,
  rate: number,
  request: () => harness.RawRequest,
  until: Promise<unknown> | number,
): Promise<number[]> {
  const sent: Promise<number>[] = [];
  let isOver = false;
  const end = (typeof until === 'number' ? sleep(until * 1_000) : until).finally(() => (isOver = true));
  for (const began = performance.now(); !isOver;) {
    await sleep(Math.max(0, began + (sent.length * 1_000) / rate - performance.now()));
    const at = performance.now();
    sent.push(answer(server, request()).then(() => performance.now() - at));
  }
  await end;
  return (await Promise.all(sent)).sort((a, b) => a - b);
}

/** @returns the milliseconds within which 99 % of GETs are answered, of {@link CLIENTS} that send them without pause */
async function p99OfGets(server: Server): Promise<number> {
  const times: number[] = [];
  const end = performance.now() + SLICE * 1_000;
  const client = async () => {
    for (let at = performance.now(); at < end; at = performance.now()) {
      await answer(server, GET());
      times.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return times.sort((a, b) => a - b).at(-times.length / 100)!;
}

const counts = () =>
  serving(pets, async (server) => {
    for (const [what, request] of Object.entries(COUNTS)) {
      const samples: Record<'cost' | 'alone' | 'beside', number>[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const cost = await costOf(server, request);
        const alone = await p99OfGets(server);
        const counting = costOf(server, request);
        const beside = await p99OfGets(server);
        await counting;
        samples.push({ cost, alone, beside });
      }
      const medianOf = (name: keyof (typeof samples)[number]) =>
        harness.median(samples.map((sample) => sample[name]));
      // That with 10 of each reads a thousand pets as well.
      row(`count of ${what}, µs`, medianOf('cost'), what.includes('10 of each') ? Infinity : 1_000);
      const alone = medianOf('alone');
      row(
        `p99 of GETs beside ${CLIENTS} clients that count, times without (${alone.toFixed(1)} ms)`,
        medianOf('beside') / alone,
        5,
      );
    }
  });

/** Compares the costs of a request in a store of the size and in the large one. */
const compare = (
  what: string,
  size: number,
  requestsTo: (server: Server, size: number) => Promise<() => harness.RawRequest>,
): Promise<void> =>
  serving(size, (smaller) =>
    serving(pets, async (larger) => {
      const [less, more] = [await requestsTo(smaller, size), await requestsTo(larger, pets)];
      const costs = [];
      // In the first round, code is compiled.
      for (let round = 0; round <= ROUNDS; round++)
        costs[round] = [await costOf(smaller, less), await costOf(larger, more)] as const;
      const usual = harness.median(costs.slice(1).map(([few]) => few));
      const ratio = harness.median(costs.slice(1).map(([few, many]) => many / few));
      row(`${what} with ${pets} pets, times with ${size} (${usual.toFixed(0)} µs)`, ratio, 1.3);
    }),
  );

/** Pages by name that begin at one of 500 random names. */
async function deepPages(server: Server, size: number): Promise<() => harness.RawRequest> {
  const page = () => `pets(first: 1, sort: name_asc, filter: { name: "dog ${random(size / 5) * 5 - 4}" })`;
  const query = () => `{ ${harness.aliases(50, () => `${page()} { pageInfo { endCursor } }`)} }`;
  const answers = await Promise.all(Array.from({ length: 10 }, () => answer(server, graphql(query()))));
  const cursors = answers.flatMap((text) => text.match(/(?<="endCursor":")[^"]+/g)!);
  return () => get(`/pets?sort=name&limit=20&after=${encodeURIComponent(cursors[random(500) - 1]!)}`);
}

async function writes(): Promise<void> {
  await compare('POST of a pet', pets / 5, async () => POST);
  await compare('deep page by name', Math.min(10_000, pets / 10), deepPages);
  await serving(pets, async (server) => {
    const sizeOfLog = () => statSync(`${server.file}-wal`).size / 2 ** 20;
    for (const rate of [20, 500]) {
      const reader = openDatabase(server.file);
      reader.exec('begin; select id from pets limit 1');
      await harness.ask(server.child, 'turn');
      const took = await paced(server, rate, POST, seconds);
      row(`log beside a reader and ${rate} POSTs a second for ${seconds} s, MB`, sizeOfLog());
      row('slowest of the POSTs, ms', took.at(-1)!);
      reader.close();
      // The log is shortened every few seconds.
      await paced(server, rate, POST, seconds + 8);
      row('log as long after it, MB', sizeOfLog(), 64);
      row('longest turn, ms', await harness.ask(server.child, 'end'), 50);
    }
  });
}

const dataCommand = (DATA_FILE: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, ['dist/petstore.js', 'data', ...args], {
    env: { ...process.env, DATA_FILE },
  });

const backup = () =>
  serving(pets, async (server) => {
    const copy = join(home, 'copy.db');
    /** Backs up for some seconds. @returns those that a backup takes */
    const backUp = async () => {
      const began = performance.now();
      let times = 0;
      for (; performance.now() - began < seconds * 500; times++) {
        rmSync(copy, { force: true });
        await dataCommand(server.file, 'backup', copy);
      }
      return (performance.now() - began) / 1_000 / times;
    };
    for (const rate of [20, 500]) {
      const alone = await backUp();
      await harness.ask(server.child, 'turn');
      const backingUp = backUp();
      await paced(server, rate, POST, backingUp);
      const ratio = (await backingUp) / alone;
      row(`backup beside ${rate} POSTs a second, times alone (${alone.toFixed(1)} s)`, ratio, 1.5);
      row('longest turn meanwhile, ms', await harness.ask(server.child, 'end'), 50);
    }
    const [state] = openDatabase(copy).prepare('pragma integrity_check').get([])!;
    row(`faults of the last copy (integrity_check: ${state})`, state === 'ok' ? 0 : 1, 0);
  });

async function ids(): Promise<void> {
  const [size, chosen] = [pets / 500, pets / 5];
  const orders = join(home, 'orders.csv');
  writeFileSync(
    orders,
    `id,complete\n${Array.from({ length: chosen }, (_, n) => `${n + 1},true\n`).join('')}`,
  );
  await serving(size, ({ file }) => dataCommand(file, 'load', 'orders', orders));
  await serving(size, async (server) => {
    /** Milliseconds of processor time, with what is written after the answer. */
    const timeOf = async (order: object) => {
      const before = harness.processorTime(server.child.pid!);
      await answer(server, harness.post('/store/orders', { ...order, complete: true }));
      await sleep(20);
      return (harness.processorTime(server.child.pid!) - before) / 1_000;
    };
    const times: number[] = [];
    for (let n = 1; n <= 500; n++) times.push(await timeOf({ id: chosen + n }));
    const usual = harness.median(times.slice(-100));
    row(
      `first assigned id after ${chosen} chosen, ms more than a chosen one (${usual.toFixed(1)} ms)`,
      (await timeOf({})) - usual,
      1,
    );
  });
}

console.log(`${pets} pets, ${harness.machine()}\n\n| | figure | at most |\n|---|--:|--:|`);
for (const [name, measure] of Object.entries({ counts, writes, backup, ids }))
  if (values.only.split(',').includes(name)) await measure();
harness.conclude();
