/**
 * `npm run bench -- load [--pets 100000]`: processor time, bytes written and memory of `data load` into an empty embedded
 * store, and as ratios to sqlite3's `.import` into a table with the same indexes, without any checks and events.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { machine, numbersOf, temporaryFolder } from './harness.ts';

const { pets } = numbersOf({ pets: [100_000, 5_000_000] });
const home = temporaryFolder();
const env = { ...process.env, DATA_FILE: join(home, 'petstore.db') };

/** The resources that a process took: seconds of the processor, bytes that it wrote, and memory at most, in MB. */
interface Taken {
  seconds: number;
  bytes: number;
  megabytes: number;
}

/** Runs a command to its end. GNU time tells what it took. */
async function taken(command: string, ...args: string[]): Promise<Taken> {
  const report = join(home, 'time');
  const child = spawn('/usr/bin/time', ['-o', report, '-f', '%U %S %O %M', command, ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env,
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}.`);
  const [user, system, blocks, kilobytes] = readFileSync(report, 'utf8').split(' ').map(Number);
  return { seconds: user! + system!, bytes: blocks! * 512, megabytes: kilobytes! / 1_024 };
}

const load = (kind: string, file: string) => ['dist/petstore.js', 'data', 'load', kind, file];
const csv = (name: string, lines: readonly string[]): string => {
  const file = join(home, name);
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
};
const categories = csv('categories.csv', [
  'name',
  ...Array.from({ length: 50 }, (_, n) => `Category ${n + 1}`),
]);
const values = Array.from({ length: pets }, (_, n) => ({
  name: `${['Cat', 'Dog', 'Bird'][n % 3]} ${(n * 104_729) % pets}`,
  rest: `${(n % 50) + 1},available,${n % 100}`,
}));
const file = csv('pets.csv', [
  'name,categoryId,status,quantity',
  ...values.map(({ name, rest }) => `${name},${rest}`),
]);
const rows = csv(
  'rows.csv',
  values.map(({ name, rest }, n) => `${n + 1},${name},${rest},${name.toLowerCase()}`),
);

execFileSync(process.execPath, load('categories', categories), { env, stdio: 'ignore' });
const schema = execFileSync(
  'sqlite3',
  [
    env.DATA_FILE,
    `select sql || ';' from sqlite_schema where tbl_name = 'pets' and type in ('table', 'index')`,
  ],
  { encoding: 'utf8' },
);
const plain = join(home, 'plain.db');
execFileSync('sqlite3', [plain, `pragma journal_mode = wal; ${schema}`], { stdio: 'ignore' });
const theirs = await taken('sqlite3', plain, '-cmd', '.mode csv', `.import ${rows} pets`);
const ours = await taken(process.execPath, ...load('pets', file));

const size = readFileSync(file).length;
const line = (name: string, { seconds, bytes, megabytes }: Taken) =>
  `| ${name} | ${((seconds / pets) * 1e6).toFixed(1)} | ${(bytes / size).toFixed(1)} | ${megabytes.toFixed(0)} |`;
console.log(`\n${pets} pets, a file of ${(size / 1e6).toFixed(1)} MB, ${machine()}\n`);
console.log('| | µs a row | bytes written, times the file | MB |\n|---|--:|--:|--:|');
console.log(line('data load', ours));
console.log(line('sqlite3 .import', theirs));
console.log(`\nratio of processor time: ${(ours.seconds / theirs.seconds).toFixed(2)}`);
