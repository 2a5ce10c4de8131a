import { setTimeout as sleep } from 'node:timers/promises';
import * as harness from './harness.ts';
import { seed } from './seed.ts';

/**
 * `[PEER=COMMAND] npm run bench -- start [--pets 200000] [--rounds 7]`: processor time until the first response to
 * `GET /pets/1`, and memory of an idle server. PEER starts another server of that path on PORT, in turn with the gateway.
 */
const { pets, rounds } = harness.numbersOf({ pets: [200_000, 5_000_000], rounds: [7, 100] });
const file = `${harness.temporaryFolder()}/petstore.db`;
const [key] = (await seed(file, pets)) as [string];

async function measured({ url, child }: harness.MeasuredServer): Promise<[number, number]> {
  await harness.send(url, { method: 'GET', path: '/pets/1' }, key);
  return [harness.processorTime(child.pid!) / 1_000, await sleep(3_000).then(() => harness.memoryOf(child))];
}

const { PEER } = process.env;
const samples = [undefined, ...(PEER ? [PEER.split(' ')] : [])].map((command) => ({
  command,
  all: [] as number[][],
}));
for (let round = 0; round < rounds; round++)
  for (const { command, all } of samples)
    all.push(await harness.withServer({ DATA_FILE: file }, measured, [], command, command && '/pets/1'));

console.log(
  `${pets} pets, ${rounds} starts of the gateway${PEER ? ' / the peer' : ''}, ${harness.machine()}`,
);
for (const [n, what] of ['ms of processor time to the first response', 'MB idle'].entries())
  console.log(
    what,
    samples.map(({ all }) => harness.median(all.map((one) => one[n]!)).toFixed(0)).join(' / '),
  );
