import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { Category } from '../../src/domains/category/category.ts';
import { Order } from '../../src/domains/order/order.ts';
import { Pet } from '../../src/domains/pet/pet.ts';
import { schema } from '../../src/schema.ts';
import { ATTACKS, type Attack } from './attacks.ts';
import {
  type DrawnRequest,
  listingsOf,
  placesKey,
  RequestGenerator,
  type Surroundings,
} from './generator.ts';
import {
  ask,
  conclude,
  cpuMilliseconds,
  expectAtMost,
  get,
  type MeasuredServer,
  median,
  memoryOf,
  post,
  type RawRequest,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { fillFile, unlimitedKey } from './seed.ts';

/**
 * The first tables of `npm run costs`: the CPU time and memory per unit of the most expensive requests found, on the built
 * gateway, compared with the most expensive REST call. Some are known; the others are the dearest among thousands that are
 * drawn from the whole GraphQL schema, the OpenAPI description, the pages, and the headers that the server is seen to read
 * (SEEDS=4000, SEED=1 to begin elsewhere). A unit may cost at most 10 times the CPU time of that call, a free request must
 * cost less than the call, no request may hold more than 32 MB, and none may keep others waiting for more than 50 ms;
 * otherwise the exit code is 1.
 *
 * So that the verdict does not depend on what else the machine does, only CPU time counts, of warm code, and the median
 * ratio to the call in alternating rounds. What is beyond a limit is warmed up and measured once more, for longer.
 * Linux only, because it reads /proc.
 */
const RECORDS = 2_000;
const SEEDS = Number(process.env.SEEDS ?? 2_000);
const FIRST_SEED = Number(process.env.SEED ?? Date.now() % 1_000_000);
/** Generated requests that are measured thoroughly: per unit, free, and by their turns. */
const DEAREST = 6;
/** When no more are drawn, in milliseconds, so that a run ends on a busy machine too. */
const SEARCH_TIME = 150_000;
/** Requests sent to see what headers the server reads. */
const EXPLORED = 200;
/** Pages of each list whose places are drawn on. */
const PLACES = 20;
/** Keys that share the load, so that the free work of each is never used up. */
const KEYS = 40;
const MAX_TIMES = 10;
const MAX_MEGABYTES = 32;
/** Milliseconds of CPU time. */
const MAX_TURN = 50;
const ROUNDS = 7;
/** CPU time to spend on one kind of request per round, in milliseconds, and before the first. */
const ROUND_CPU_TIME = 30;
const WARM_UP_CPU_TIME = 200;
/** How many times as long what is beyond a limit is measured again. */
const LONGER = 4;
/** Turns measured of each kind of request. */
const TURNS = 5;
/** When a response that does not end is left, in milliseconds. */
const PATIENCE = 100;

/** Ordinary calls, the most expensive of which defines the value of a unit. */
const REST: readonly RawRequest[] = [
  get('/pets?limit=100'),
  get('/pets?status=sold&limit=100'),
  get('/categories?limit=100'),
  get('/store/orders?limit=100'),
  get('/store/inventory?limit=100'),
  get('/events?limit=100'),
  get('/pets/1'),
  post('/pets', { name: 'Rex', categoryId: 1 }),
  post('/store/orders', { petId: 1, quantity: 1 }),
  post('/categories', { name: 'n'.repeat(200), description: 'd'.repeat(2_000) }),
];

/** Headers that every request has, or that say whose it is and how long. */
const OWN_HEADERS = new Set([
  'host',
  'connection',
  'x-api-key',
  'authorization',
  'x-forwarded-for',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
]);

/** Requests sent so far. */
let sent = 0;
/** All requests take turns with them. */
let keys: readonly string[] = [];
/** Of a key that is banned once it has been used. */
let bannedKey = '';
/** Where the server listens that is measured at the moment. */
let port = 0;
const nextKey = () => keys[sent % keys.length]!;
const openapi = JSON.parse(readFileSync('schema/openapi.json', 'utf8'));
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const file = join(temporaryFolder(), 'petstore.db');
try {
  [bannedKey, ...keys] = (await fill(file)) as [string, ...string[]];
  const surroundings = await withProbe('headers-read', explore);
  const generator = new RequestGenerator(schema, openapi, surroundings);
  const large = await withProbe('longest-turn', (child) => measure(child, generator));
  if (large.length > 0) await withProbe('held', (child) => measureHeld(child, large));
} finally {
  agent.destroy();
}
conclude();

/** Starts a server into which a module is loaded that answers questions about it. */
function withProbe<R>(module: string, work: (child: ChildProcess) => Promise<R>): Promise<R> {
  const program = ['--import', `./test/bench/${module}.mjs`, 'dist/main.js'];
  const begin = (server: MeasuredServer) => {
    port = server.port;
    return work(server.child);
  };
  return withServer({ DATA_FILE: file, TRUST_PROXY: '1' }, begin, program);
}

/** Adds records of the maximum length. @returns a key that is nearly used up, and others without effective limits */
function fill(file: string): Promise<string[]> {
  return fillFile(file, async (store) => {
    for (let n = 1; n <= 100; n++)
      await store
        .table(Category)
        .insert({ name: `${n}`.padEnd(200, 'c'), description: `${n}`.padEnd(2_000, 'd') });
    for (let n = 0; n < RECORDS; n += 100) {
      await Promise.all(
        Array.from({ length: 100 }, async (_, i) => {
          const { id } = await store.table(Pet).insert({
            name: `${n + i}`.padEnd(200, 'p'),
            // The first two categories have many.
            categoryId: String(n < 400 ? (i % 2) + 1 : ((n + i) % 100) + 1),
            status: 'sold',
          });
          const order = { petId: id, quantity: 1, shipDate: '2026-01-31T09:30:00Z', complete: true };
          for (let o = 0; o < 12; o++) await store.table(Order).insert(order);
        }),
      );
    }
    const made = [await unlimitedKey(store, { perMinute: 1, perDay: 1 })];
    while (made.length <= KEYS) made.push(await unlimitedKey(store));
    return made;
  });
}

interface Cost {
  status: number;
  units: number;
  /** Peak growth of the process in megabytes during the first of these requests. */
  megabytes: number;
  /** CPU time of one request in milliseconds. */
  milliseconds: number;
  /** CPU time of the longest turn of the event loop during one request, in milliseconds. */
  turn: number;
}

/** Sends a request with this key. */
type Send = (key?: string) => Promise<number>;

/** A request under measurement. */
interface Candidate {
  name: string;
  send: Send;
}

/** What requests can refer to, as a server tells it. */
async function explore(child: ChildProcess): Promise<Surroundings> {
  const read = (path: string, accept = '*/*') => exchange(nextKey(), get(path, { accept }), true);
  const places = new Map<string, string[]>();
  for (const { path, sorts, after } of listingsOf(openapi)) {
    for (const sort of sorts) {
      const known = places.get(placesKey(after, sort)) ?? [];
      places.set(placesKey(after, sort), known);
      let next: string | undefined = `${path}?limit=50${sort === undefined ? '' : `&sort=${sort}`}`;
      for (let n = 0; n < PLACES && next !== undefined; n++) {
        const { link } = await read(next);
        const target: string | undefined = /<([^>]+)>; rel="next"/.exec(link)?.[1];
        next = target;
        const place = target && new URL(target, 'http://localhost').searchParams.get('after');
        if (place) known.push(place);
      }
    }
  }
  const pages = new Set(['/', '/health/live', '/health/ready', '/robots.txt', '/nothing']);
  for (const path of pages) {
    const { text } = await read(path, 'text/html');
    if (text.startsWith('<'))
      for (const [, target] of text.matchAll(/(?:href|src)="(\/[^"#?]*)/g)) pages.add(target!);
  }
  // Written at most four times a second, however many ask.
  pages.delete('/metrics');
  const generator = new RequestGenerator(schema, openapi, { places, pages: [...pages], headers: ['origin'] });
  for (let seed = 0; seed < EXPLORED; seed++) await exchange(nextKey(), generator.request(seed));
  const names = await ask<string[]>(child, 'headers');
  return { places, pages: [...pages], headers: names.filter((name) => !OWN_HEADERS.has(name)) };
}

/** @returns the requests during which the process grew by more than a request may hold, including garbage */
async function measure(child: ChildProcess, generator: RequestGenerator): Promise<Candidate[]> {
  const senderOf =
    (requestOf: () => RawRequest): Send =>
    (key = nextKey()) =>
      call(key, requestOf());
  const calls = [];
  for (const request of REST) {
    const name = `${request.method} ${request.path}`;
    const send = senderOf(() => request);
    for (let i = 0; i < 300; i++) await send();
    const { medians } = await compare(child, [send], 1);
    const turn = await longestTurn(child, send);
    calls.push({
      name,
      send,
      cost: { ...(await measureFirst(child, send)), milliseconds: medians[0]!, turn },
    });
  }
  const worst = calls.reduce((a, b) => (a.cost.milliseconds > b.cost.milliseconds ? a : b));
  console.log(`CPU time per unit, compared with ${worst.name}\n`);
  console.log(
    '| request | status | units | ms | ms per unit | ratio | turn ms | MB |\n|---|--:|--:|--:|--:|--:|--:|--:|',
  );
  for (const { name, cost } of calls)
    console.log(row(name, cost, cost.milliseconds / worst.cost.milliseconds));
  const sendAs = (key: Attack['key'], requestOf: () => RawRequest): Send =>
    key ? () => call(key === 'none' ? '' : bannedKey, requestOf()) : senderOf(requestOf);
  const known = ATTACKS.map(([name, { path = '/graphql', headers, key, parameters }]): Candidate => {
    let n = 0;
    const requestOf = (): RawRequest => {
      const request = parameters ? post(path, parameters(n++)) : get(path);
      return { ...request, headers: { ...request.headers, ...headers } };
    };
    return { name, send: sendAs(key, requestOf) };
  });
  for (let i = 0; i < 30; i++) await call(bannedKey, get('/pets/1'));
  const large: Candidate[] = [];
  const dearest = { unit: 0, free: 0, turn: 0 };
  for (const candidate of [...known, ...(await search(child, generator, sendAs))]) {
    const { name, send } = candidate;
    const first = await measureFirst(child, send);
    const kind = first.units === 0 ? 'free' : 'unit';
    const compared = async (length: number) => {
      const { medians, ratio } = await compare(child, [worst.send, send], length);
      return { milliseconds: medians[1]!, times: ratio / Math.max(first.units, 1) };
    };
    let found = await compared(1);
    if (found.times > (kind === 'free' ? 1 : MAX_TIMES)) found = await compared(LONGER);
    let turn = await longestTurn(child, send);
    if (turn > MAX_TURN) turn = await longestTurn(child, send);
    console.log(row(name, { ...first, ...found, turn }, found.times));
    dearest[kind] = Math.max(dearest[kind], found.times);
    dearest.turn = Math.max(dearest.turn, turn);
    if (first.megabytes > MAX_MEGABYTES) large.push(candidate);
  }
  console.log(
    `\nThe dearest unit costs ${dearest.unit.toFixed(1)} times the dearest REST call (at most ${MAX_TIMES}), the dearest free request ${dearest.free.toFixed(2)} times (at most 1); the longest turn takes ${dearest.turn.toFixed(0)} ms (at most ${MAX_TURN}).`,
  );
  expectAtMost('the dearest unit relative to the dearest REST call', dearest.unit, MAX_TIMES);
  expectAtMost('the dearest free request relative to the dearest REST call', dearest.free, 1);
  expectAtMost('the longest turn in ms', dearest.turn, MAX_TURN);
  return large;
}

/** The dearest requests among many that are drawn from all there is: per unit, free, and those with the longest turns. */
async function search(
  child: ChildProcess,
  generator: RequestGenerator,
  sendAs: (key: DrawnRequest['key'], requestOf: () => RawRequest) => Send,
): Promise<Candidate[]> {
  const found: (Candidate & { units: number; milliseconds: number; turn: number })[] = [];
  let answered = 0;
  const until = performance.now() + SEARCH_TIME;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && performance.now() < until; seed++) {
    const request = generator.request(seed);
    let n = 0;
    // Every other document is new each time, by its white space alone.
    const send = sendAs(request.key, () =>
      seed % 2 === 0 ? request : { ...request, ...withWhiteSpace(request, n++) },
    );
    const { units, status } = await measureFirst(child, send);
    if (status >= 200 && status < 300) answered++;
    let milliseconds = Number.POSITIVE_INFINITY;
    let turn = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 2; i++) {
      await ask(child, 'begin');
      const began = cpuMilliseconds(child);
      await send();
      milliseconds = Math.min(milliseconds, cpuMilliseconds(child) - began);
      turn = Math.min(turn, await ask<number>(child, 'end'));
    }
    const { method, path, headers, body = '', key = '' } = request;
    const text = `${key} ${method} ${path} ${JSON.stringify(headers)} ${body}`;
    const name = `seed ${seed}: ${text.slice(0, 160).replaceAll('|', '/')}`;
    found.push({ name, send, units, milliseconds, turn });
  }
  console.log(
    `(${found.length} requests were drawn, ${((100 * answered) / found.length).toFixed(0)} % of them answered with 2xx)`,
  );
  const perUnit = (one: (typeof found)[number]) => one.milliseconds / Math.max(one.units, 1);
  const ranked = found.toSorted((a, b) => perUnit(b) - perUnit(a));
  return [
    ...new Set([
      ...ranked.filter(({ units }) => units > 0).slice(0, DEAREST),
      ...ranked.filter(({ units }) => units === 0).slice(0, DEAREST),
      ...found.toSorted((a, b) => b.turn - a.turn).slice(0, DEAREST),
    ]),
  ];
}

function withWhiteSpace({ body }: RawRequest, n: number): Partial<RawRequest> {
  const space = n.toString(2).replaceAll('0', ' ').replaceAll('1', '\\t');
  return body === undefined ? {} : { body: body.replaceAll('"query":"', `"query":"${space} `) };
}

/** Measures the memory that is not garbage. */
async function measureHeld(child: ChildProcess, candidates: readonly Candidate[]): Promise<void> {
  console.log('\n| request | MB held |\n|---|--:|');
  for (const { name, send } of candidates) {
    await send();
    await ask(child, 'begin');
    for (let i = 0; i < 3; i++) await send();
    const held = (await ask<number>(child, 'end')) / 1e6;
    console.log(`| ${name} | ${held.toFixed(2)} |`);
    expectAtMost(`MB held for ${name}`, held, MAX_MEGABYTES);
  }
}

function row(name: string, { status, units, megabytes, milliseconds, turn }: Cost, times: number): string {
  const figures = [milliseconds, milliseconds / Math.max(units, 1), times, turn, megabytes];
  return `| ${name} | ${status} | ${units} | ${figures.map((figure) => figure.toFixed(figure < 100 ? 2 : 0)).join(' | ')} |`;
}

async function measureFirst(
  child: ChildProcess,
  send: Send,
): Promise<Pick<Cost, 'status' | 'units' | 'megabytes'>> {
  const key = nextKey();
  const remaining = async () => {
    const { remaining } = await exchange(key, get('/pets/1'));
    return remaining;
  };
  const before = await remaining();
  const held = memoryOf(child);
  writeFileSync(`/proc/${child.pid}/clear_refs`, '5');
  const status = await send(key);
  const megabytes = Math.max(0, memoryOf(child, 'VmHWM') - held);
  // What a stream costs beyond its opening is charged later. The call itself costs one unit.
  return { status, units: before - (await remaining()) - 1, megabytes };
}

/** The median of the longest turns during some requests. */
async function longestTurn(child: ChildProcess, send: Send): Promise<number> {
  const turns: number[] = [];
  for (let i = 0; i < TURNS; i++) {
    await ask(child, 'begin');
    await send();
    turns.push(await ask<number>(child, 'end'));
  }
  return median(turns);
}

/**
 * Sends requests of each kind in alternation, after some to warm up.
 *
 * @param length how many times as many as usual
 * @returns the median CPU milliseconds per request of each kind, and the median ratio of the last kind to the first
 */
async function compare(
  child: ChildProcess,
  kinds: readonly Send[],
  length: number,
): Promise<{ medians: number[]; ratio: number }> {
  await burst(child, kinds.at(-1)!, length * WARM_UP_CPU_TIME);
  const rounds: number[][] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const round = [];
    for (const send of kinds) round.push(await burst(child, send, length * ROUND_CPU_TIME));
    rounds.push(round);
  }
  const medians = kinds.map((_, kind) => median(rounds.map((round) => round[kind]!)));
  return { medians, ratio: median(rounds.map((round) => round.at(-1)! / round[0]!)) };
}

/** @returns CPU milliseconds per request */
async function burst(child: ChildProcess, send: Send, atLeast: number): Promise<number> {
  const began = cpuMilliseconds(child);
  const until = performance.now() + 20 * atLeast;
  let spent = 0;
  let requests = 0;
  while (requests === 0 || (spent < atLeast && performance.now() < until)) {
    await send();
    requests++;
    spent = cpuMilliseconds(child) - began;
  }
  return spent / requests;
}

async function call(key: string, request: RawRequest): Promise<number> {
  const { status } = await exchange(key, request);
  return status;
}

/** What is noted of a response. */
interface Answer {
  status: number;
  remaining: number;
  link: string;
  text: string;
}

/**
 * Reads the whole response, or leaves once it comes to a stand. Every request comes from another address.
 *
 * @param keeps whether to keep its text
 */
function exchange(key: string, { method, path, headers, body }: RawRequest, keeps = false): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        ...{ host: '127.0.0.1', port, path, method, agent },
        headers: {
          ...(key && { 'x-api-key': key }),
          'x-forwarded-for': `10.${[16, 8, 0].map((bits) => (sent >> bits) & 255).join('.')}`,
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
          ...headers,
        },
      },
      (response) => {
        clearTimeout(patience);
        const isStream = response.headers['content-type']?.startsWith('text/event-stream');
        if (isStream) patience = setTimeout(leave, PATIENCE);
        let text = '';
        response.on('data', (chunk) => {
          if (keeps) text += chunk;
          if (!isStream) return;
          clearTimeout(patience);
          patience = setTimeout(leave, PATIENCE);
        });
        response.on('error', () => {});
        response.on('close', () => {
          clearTimeout(patience);
          const { link = '', 'x-ratelimit-remaining': remaining } = response.headers;
          resolve({ status: response.statusCode!, remaining: Number(remaining), link: String(link), text });
        });
      },
    );
    const leave = () => request.destroy();
    sent++;
    request.on('error', (error: NodeJS.ErrnoException) => {
      // What is malformed in the middle of a connection may get a response that the client does not expect.
      if (!request.destroyed && !error.code?.startsWith('HPE_')) reject(error);
      resolve({ status: 0, remaining: Number.NaN, link: '', text: '' });
    });
    // A long poll waits for what does not come.
    let patience = setTimeout(leave, path.includes('wait=') ? PATIENCE : 10_000);
    request.end(body);
  });
}
