/**
 * `npm run bench -- load [--pets 100000]`: processor time, bytes written and memory of `data load` into an empty embedded
 * store and of `data import`, and as ratios to what sqlite3 takes for the same tables and indexes, without any checks and
 * events: `.import`, and `.dump` read by another sqlite3.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
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

const PETSTORE = 'dist/petstore.js';
const load = (kind: string, file: string) => [PETSTORE, 'data', 'load', kind, file];
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

const dump = join(home, 'export');
execFileSync(process.execPath, [PETSTORE, 'data', 'export', dump], { env, stdio: 'ignore' });
env.DATA_FILE = join(home, 'imported.db');
const imported = await taken(process.execPath, PETSTORE, 'data', 'import', dump);
const copied = await taken('sh', '-c', `sqlite3 ${env.DATA_FILE} .dump | sqlite3 ${join(home, 'copied.db')}`);

const sizeOf = (path: string) => statSync(path).size;
const line = (name: string, { seconds, bytes, megabytes }: Taken, size: number) =>
  `| ${name} | ${((seconds / pets) * 1e6).toFixed(1)} | ${(bytes / size).toFixed(1)} | ${megabytes.toFixed(0)} |`;
const ratio = (one: Taken, other: Taken) => (one.seconds / other.seconds).toFixed(2);
console.log(`\n${pets} pets, a file of ${(sizeOf(file) / 1e6).toFixed(1)} MB, ${machine()}\n`);
console.log('| | µs a row | bytes written, times the file | MB |\n|---|--:|--:|--:|');
console.log(line('data load', ours, sizeOf(file)));
console.log(line('sqlite3 .import', theirs, sizeOf(file)));
const exported = sizeOf(join(dump, 'pets.jsonl'));
console.log(line('data import', imported, exported));
console.log(line('sqlite3 .dump \\| sqlite3', copied, exported));
console.log(`\nratios of processor time: load ${ratio(ours, theirs)}, import ${ratio(imported, copied)}`);
