/**
 * `npm run bench -- load [--pets 100000] [--letters 10]`: processor time, bytes written and memory of `data load` into an
 * empty embedded store and of `data import`, and as ratios to what sqlite3 takes for the same tables and indexes, without
 * any checks: `.import`, without events and with those that a trigger logs, and `.dump` read by another sqlite3. Each
 * name has so many letters, which makes a row of 26 bytes by default, and one of 160 with 144.
 */
import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { machine, numbersOf, temporaryFolder } from './harness.ts';

const { pets, letters } = numbersOf({ pets: [100_000, 5_000_000], letters: [10, 190] });
const home = temporaryFolder();
const env = { ...process.env, DATA_FILE: join(home, 'petstore.db') };

/** The resources that a process took. */
interface Taken {
  /** Processor time. */
  seconds: number;
  /** Bytes written to files. */
  written: number;
  /** Those of temporary files that were deleted before the system had moved them to the disk. */
  deleted: number;
  /** Memory at most, in MB. */
  megabytes: number;
}

/** Runs a command to its end. GNU time and Linux (`/proc/[pid]/io`, which includes ended children) tell what it took. */
async function taken(command: string, ...args: string[]): Promise<Taken> {
  const report = join(home, 'time');
  const time = ['/usr/bin/time', '-o', report, '-f', '%U %S %M', command, ...args];
  const child = spawn('sh', ['-c', '"$@" > /dev/null && cat /proc/$$/io', 'sh', ...time], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
  });
  const io = await text(child.stdout);
  if (io === '') throw new Error(`${command} ${args.join(' ')} failed.`);
  const [user, system, kilobytes] = readFileSync(report, 'utf8').split(' ').map(Number);
  const counter = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)![1]);
  return {
    seconds: user! + system!,
    written: counter('write_bytes'),
    deleted: counter('cancelled_write_bytes'),
    megabytes: kilobytes! / 1_024,
  };
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
  name: `${['Cat', 'Dog', 'Bird'][n % 3]} ${(n * 104_729) % pets}`.padEnd(letters, ' of many words'),
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
const EVENTS = `
  create table events (position integer primary key, type text not null, time integer not null, record text not null) strict;
  create index events_by_type on events (type);
  create trigger logged after insert on pets begin
    insert into events (type, time, record) values ('pet.created', unixepoch() * 1000, json_object(
      'id', cast(new.id as text), 'name', new.name, 'categoryId', cast(new.category_id as text),
      'status', new.status, 'quantity', new.quantity));
  end;`;
/** What sqlite3 takes to import the rows. */
async function importing(name: string, more: string): Promise<Taken & { size: number }> {
  const database = join(home, name);
  execFileSync('sqlite3', [database, `pragma journal_mode = wal; ${schema} ${more}`], { stdio: 'ignore' });
  const result = await taken('sqlite3', database, '-cmd', '.mode csv', `.import ${rows} pets`);
  return { ...result, size: statSync(database).size };
}
const theirs = await importing('plain.db', '');
const logged = await importing('logged.db', EVENTS);
const ours = await taken(process.execPath, ...load('pets', file));
const loaded = statSync(env.DATA_FILE).size;

const dump = join(home, 'export');
execFileSync(process.execPath, [PETSTORE, 'data', 'export', dump], { env, stdio: 'ignore' });
env.DATA_FILE = join(home, 'imported.db');
const imported = await taken(process.execPath, PETSTORE, 'data', 'import', dump);
const copied = await taken('sh', '-c', `sqlite3 ${env.DATA_FILE} .dump | sqlite3 ${join(home, 'copied.db')}`);

const sizeOf = (path: string) => statSync(path).size;
const line = (name: string, { seconds, written, deleted, megabytes }: Taken, made: number, read: number) => {
  const times = [written, written - deleted, made].map((bytes) => (bytes / read).toFixed(1));
  return `| ${name} | ${((seconds / pets) * 1e6).toFixed(1)} | ${times.join(' | ')} | ${megabytes.toFixed(0)} |`;
};
const ratio = (one: Taken, other: Taken) => (one.seconds / other.seconds).toFixed(2);
console.log(`\n${pets} pets, a file of ${(sizeOf(file) / 1e6).toFixed(1)} MB, ${machine()}`);
console.log(
  'Bytes are times the file: all that were written; those that were not deleted at once; the database.\n',
);
console.log('| | µs a row | written | kept | database | MB |\n|---|--:|--:|--:|--:|--:|');
console.log(line('data load', ours, loaded, sizeOf(file)));
console.log(line('sqlite3 .import', theirs, theirs.size, sizeOf(file)));
console.log(line('sqlite3 .import, with events', logged, logged.size, sizeOf(file)));
const exported = sizeOf(join(dump, 'pets.jsonl'));
console.log(line('data import', imported, sizeOf(env.DATA_FILE), exported));
console.log(line('sqlite3 .dump \\| sqlite3', copied, sizeOf(join(home, 'copied.db')), exported));
console.log(`\nratios of processor time: load ${ratio(ours, theirs)}, import ${ratio(imported, copied)}`);
