import { join } from 'node:path';
import { exchangeRaw } from '../kit/raw.ts';
import {
  aliases,
  ask,
  conclude,
  expectAtMost,
  type MeasuredServer,
  machine,
  post,
  type RawRequest,
  send,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { seed } from './seed.ts';

/**
 * `npm run costs`: the known requests that cost most to read, validate, run or answer. None of them may keep the process
 * from answering others for more than {@link MAX_TURN} ms of processor time, nor hold more than {@link MAX_HELD} MB. Prints
 * the figures as a table, and exits with 1 if one is above its limit.
 */
const MAX_TURN = 250;
const MAX_HELD = 64;
/** How often each is sent for the longest turn: the first uses meet code that is not warm yet. */
const TIMES = 5;
const PETS = 20_000;

const graphql = (query: string, variables?: object) => post('/graphql', { query, variables });
const repeat = (count: number, text: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => text(n)).join(' ');
const nested = (count: number, open: string, inner: string, close = ' }'): string =>
  open.repeat(count) + inner + close.repeat(count);
const raw = (head: string, parts: Iterable<string> = []) => ({ head, parts });

/** A request, or the bytes of one that no client would send so. */
type Bomb = RawRequest | ReturnType<typeof raw>;

const DEEP = nested(330, '{ category { pets(first: 1) { nodes ', '{ id }', ' } }');
const WIDE = `{ categories(first: 50) { nodes { pets(first: 98) { nodes { id name } } } } }`;
const ENTRY = { query: `{ pets(first: 100) { nodes { ${aliases(120, 'name')} } } }` };

const BOMBS: Record<string, Bomb> = {
  'fields nested as deep as tokens last': graphql(`{ pet(id: 1) ${DEEP} }`),
  'lists nested as deep as tokens last': graphql(
    `{ pets(filter: { status: ${nested(900, '[', '1', ']')} }) { totalCount } }`,
  ),
  'a flood of aliases at the highest price': graphql(
    `{ pets(first: 100) { nodes { ${aliases(600, 'name')} } } }`,
  ),
  'a flood of unknown fields': graphql(`{ pet(id: 1) { ${repeat(650, (n) => `categori${n}`)} } }`),
  'fragments that spread each other': graphql(
    `{ pet(id: 1) { ...F0 } } ${repeat(150, (n) => `fragment F${n} on Pet { id ...F${(n + 1) % 150} ...F${(n + 7) % 150} }`)}`,
  ),
  'fragments that double at each level': graphql(
    `{ pet(id: 1) { ...F0 } } ${repeat(60, (n) => `fragment F${n} on Pet { a${n}: inventory { pet { ${n < 59 ? `...F${n + 1}` : 'id'} } } b${n}: inventory { pet { ${n < 59 ? `...F${n + 1}` : 'id'} } } }`)}`,
  ),
  'fields that overlap': graphql(
    `{ ${repeat(160, () => `pet(id: 1) { x: category { ...F } }`)} } fragment F on Category { ${repeat(300, () => 'x: name')} }`,
  ),
  'introspection by many aliases': graphql(
    `{ __schema { types { fields { type { fields { ${aliases(480, 'name')} args { type { name } } } } } } } }`,
  ),
  'a literal as long as a body': graphql(
    `{ pets(filter: { name: "${'é'.repeat(45_000)}" }) { totalCount } }`,
  ),
  'a comment as long as a body': graphql(`{ __typename } ${'#\n'.repeat(900)}#${'x'.repeat(90_000)}`),
  'a list of 49,000 ids': graphql('query ($ids: [ID!]!) { nodes(nodeIds: $ids) { nodeId } }', {
    ids: Array<number>(49_000).fill(1),
  }),
  'a log filtered by 12,000 statuses': graphql(
    'query ($status: [String!]) { requests(first: 100, filter: { status: $status }) { nodes { id } } }',
    { status: Array<string>(12_000).fill('404') },
  ),
  'variables that are all wrong': graphql('query ($f: PetFilter) { pets(filter: $f) { totalCount } }', {
    f: Object.fromEntries(Array.from({ length: 6_000 }, (_, n) => [`f${n}`, n])),
  }),
  'JSON nested as deep as a body': { ...post('/pets', {}), body: '['.repeat(99_000) },
  'a flood of objects at the highest price': graphql(
    `{ pets(first: 100) { nodes { ${aliases(320, 'category { id }')} } } }`,
  ),
  'the widest answer': graphql(WIDE),
  'a batch of the heaviest entries': post('/graphql', Array(5).fill(ENTRY)),
  'a batch of ten new documents': post(
    '/graphql',
    Array.from({ length: 10 }, (_, n) => ({
      query: `{ pet(id: 1) { ${repeat(600, (i) => `a${n}_${i}: id`)} } }`,
    })),
  ),
  'a mutation of 50 fields': graphql(
    `mutation { ${aliases(50, (n) => `createCategory(input: { name: "c${n}" }) { id }`)} }`,
  ),
  'a page of 5,000 events by a rare type': graphql(
    `{ ${aliases(50, 'events(first: 100, types: [order_deleted]) { nodes { id } }')} }`,
  ),
  'a body in chunks of a byte': raw(
    'POST /graphql HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nX-API-Key: KEY\r\n\r\n',
    [...Array<string>(15_000).fill('1\r\n \r\n'), '0\r\n\r\n'],
  ),
  'headers as long as they may be': raw(
    `GET /pets HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: KEY\r\nAccept: ${'a/b;q=0.1,'.repeat(1_500)}*/*\r\n\r\n`,
  ),
};

/** @returns the status of the answer */
async function sendBomb({ url }: MeasuredServer, bomb: Bomb, key: string): Promise<number> {
  if (!('head' in bomb)) return (await send(url, bomb, key)).status;
  const text = await exchangeRaw(url, bomb.head.replace('KEY', key) + [...bomb.parts].join(''));
  return Number(/^HTTP\/1.1 (\d+)/.exec(text)?.[1]);
}

const file = join(temporaryFolder(), 'petstore.db');
const [key] = (await seed(file, PETS)) as [string];
const options = ['--import', './test/bench/watch.mjs'];
await withServer(
  { DATA_FILE: file },
  async (server) => {
    console.log(`${PETS} pets, ${machine()}\n`);
    console.log('| request | status | longest turn, ms | held, MB |\n|---|--:|--:|--:|');
    for (const [name, bomb] of Object.entries(BOMBS)) {
      const watching = async (what: 'turn' | 'memory', times: number) => {
        await ask(server.child, what);
        let status = 0;
        for (let time = 0; time < times; time++) status = await sendBomb(server, bomb, key);
        return { status, most: await ask<number>(server.child, 'end') };
      };
      const { status, most: turn } = await watching('turn', TIMES);
      const { most: held } = await watching('memory', 1);
      console.log(`| ${name} | ${status} | ${turn.toFixed(0)} | ${held.toFixed(1)} |`);
      expectAtMost(`${name}: milliseconds of processor time in one turn`, turn, MAX_TURN);
      expectAtMost(`${name}: megabytes held`, held, MAX_HELD);
    }
  },
  options,
);
conclude();
