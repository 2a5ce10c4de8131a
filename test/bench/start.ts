import { setTimeout as sleep } from 'node:timers/promises';
import autocannon from 'autocannon';
import * as harness from './harness.ts';
import { seed } from './seed.ts';

/**
 * `[PEER=COMMAND] npm run bench -- start [--pets 200000] [--rounds 7] [--requests 20000]`: processor time until the first
 * response to `GET /pets/1`, and memory of an idle server, and after reads of pets, of pages, and new pets. PEER starts
 * another server of these paths on PORT, in turn with the gateway; NaN says that it refused some.
 */
const { pets, rounds, requests } = harness.numbersOf({
  pets: [200_000, 5_000_000],
  rounds: [7, 100],
  requests: [20_000, 1_000_000],
});
const file = `${harness.temporaryFolder()}/petstore.db`;
const [key] = (await seed(file, pets)) as [string];

/** Requests by 32 clients, each read about another record. */
const load = (url: string) =>
  autocannon({
    url,
    connections: 32,
    amount: requests,
    headers: { 'x-api-key': key },
    requests: [
      ...['/pets/', '/pets?limit=20&after='].map((path) => ({
        setupRequest: (request: autocannon.Request) => ({
          ...request,
          path: path + Math.ceil(Math.random() * pets),
        }),
      })),
      harness.post('/pets', { name: 'Bench pet', categoryId: 7, status: 'available' }) as autocannon.Request,
    ],
  });

const measured = async ({ url, child }: harness.MeasuredServer): Promise<number[]> => [
  await harness
    .send(url, { method: 'GET', path: '/pets/1' }, key)
    .then(() => harness.processorTime(child.pid!) / 1_000),
  await sleep(3_000).then(() => harness.memoryOf(child)),
  // Of a server that refuses requests, the memory would say nothing.
  await load(url).then(({ non2xx, errors }) => (non2xx + errors > 0 ? NaN : harness.memoryOf(child))),
];

const peer = process.env.PEER?.split(' ');
const samples = [undefined, ...(peer ? [peer] : [])].map((command) => ({ command, all: [] as number[][] }));
for (let round = 0; round < rounds; round++)
  for (const { command, all } of samples)
    all.push(await harness.withServer({ DATA_FILE: file }, measured, [], command, command && '/pets/1'));

console.log(
  `${pets} pets, ${rounds} starts of the gateway${peer ? ' / the peer' : ''}, ${harness.machine()}`,
);
for (const [n, what] of [
  'ms of processor time to the first response',
  'MB idle',
  `MB after ${requests} requests`,
].entries())
  console.log(
    what,
    samples.map(({ all }) => harness.median(all.map((one) => one[n]!)).toFixed(0)).join(' / '),
  );
