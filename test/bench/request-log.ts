import { copyFileSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  conclude,
  expectAtMost,
  machine,
  type MeasuredServer,
  numbersOf,
  post,
  processorTime,
  type RawRequest,
  send,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { seed } from './seed.ts';

/**
 * `npm run bench -- log [--seconds 300 --rate 2500 --keys 1000]`: the processor time that the request log adds to a request, at most
 * {@link MAX_SHARE} percent. Two servers, with and without it, get each request at the same time, so that whatever else the
 * machine does meets both.
 */
const MAX_SHARE = 3;
const PETS = 2_000;
/** The number of requests in progress. */
const LANES = 32;
/** The seconds that a pair of processes serves. Pairs differ by as much as what is measured. */
const ROUND = 60;
/** The share of them until code is compiled. */
const WARM_UP = 0.2;
const SAMPLES_DRAWN = 2_000;

const { seconds, rate, keys } = numbersOf({
  seconds: [300, 3_600],
  rate: [2_500, 10_000],
  keys: [1_000, 10_000],
});

const NESTED =
  'query ($id: ID!) { pet(id: $id) { id name status category { name pets(first: 5) { nodes { id name } } } } }';
const MIX: readonly ((id: number) => RawRequest)[] = [
  (id) => ({ method: 'GET', path: `/pets/${id}` }),
  (id) => ({ method: 'GET', path: `/pets/${id}` }),
  () => ({ method: 'GET', path: '/pets?limit=20' }),
  (id) => post('/graphql', { query: NESTED, variables: { id: String(id) } }),
];

/** The microseconds of processor time that a pair of servers took. */
interface Sample {
  on: number;
  off: number;
}

const sum = (samples: readonly Sample[], of: keyof Sample): number =>
  samples.reduce((total, sample) => total + sample[of], 0);
const shareOf = (samples: readonly Sample[]): number => 100 * (sum(samples, 'on') / sum(samples, 'off') - 1);

/** The 95 % interval of the share, by drawing as many samples as there are, again and again. */
function intervalOf(samples: readonly Sample[]): [least: number, most: number] {
  const drawn = Array.from({ length: SAMPLES_DRAWN }, () =>
    shareOf(samples.map(() => samples[Math.floor(Math.random() * samples.length)]!)),
  ).sort((a, b) => a - b);
  return [drawn[Math.floor(SAMPLES_DRAWN * 0.025)]!, drawn[Math.floor(SAMPLES_DRAWN * 0.975)]!];
}

const home = temporaryFolder();
const secrets = await seed(join(home, 'seed.db'), PETS, keys);

/** Starts a server on a copy of the data, without the request log of another. */
function withLog<R>(setting: 'on' | 'off', work: (server: MeasuredServer) => Promise<R>): Promise<R> {
  const file = join(mkdtempSync(join(home, setting)), 'petstore.db');
  copyFileSync(join(home, 'seed.db'), file);
  return withServer({ DATA_FILE: file, REQUEST_LOG: setting, LOG_LEVEL: 'error' }, work);
}

let turn = 0;

/** Sends requests at the rate for some seconds, each to both servers. */
async function sample(on: MeasuredServer, off: MeasuredServer, duration: number): Promise<Sample> {
  const times = () => [on, off].map(({ child }) => processorTime(child.pid!)) as [number, number];
  const [onBefore, offBefore] = times();
  const [began, first] = [performance.now(), turn];
  const lane = async () => {
    while (turn - first < rate * duration) {
      const n = turn++;
      const wait = began + ((n - first) * 1_000) / rate - performance.now();
      if (wait > 1) await sleep(wait);
      const request = MIX[n % MIX.length]!(1 + ((n * 37) % PETS));
      // Neither is always the first.
      const servers = n % 2 === 0 ? [on, off] : [off, on];
      const answers = await Promise.all(servers.map(({ url }) => send(url, request, secrets[n % keys]!)));
      if (answers.some(({ status }) => status !== 200)) throw new Error('A request was refused.');
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const [onAfter, offAfter] = times();
  return { on: onAfter - onBefore, off: offAfter - offBefore };
}

const samples: Sample[] = [];
while (samples.length < seconds / ROUND) {
  // Neither is always started first.
  const order = samples.length % 2 === 0 ? (['on', 'off'] as const) : (['off', 'on'] as const);
  await withLog(order[0], (one) =>
    withLog(order[1], async (other) => {
      const [on, off] = order[0] === 'on' ? [one, other] : [other, one];
      await sample(on, off, WARM_UP * ROUND);
      samples.push(await sample(on, off, (1 - WARM_UP) * ROUND));
    }),
  );
}
const [least, most] = intervalOf(samples).map((share) => share.toFixed(1));
const requests = (1 - WARM_UP) * ROUND * rate;
const without = sum(samples, 'off') / (samples.length * requests);
console.log(
  `The request log adds ${shareOf(samples).toFixed(1)} % (95 %: ${least} to ${most}) to ${without.toFixed(0)} µs of processor time a request; ${samples.length} pairs of processes, ${requests} requests each, ${machine()}`,
);
expectAtMost('request log, in percent of the processor time of a request', shareOf(samples), MAX_SHARE);
conclude();
