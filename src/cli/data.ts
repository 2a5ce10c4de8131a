import { parseArgs } from 'node:util';
import { readConfig } from '../config.ts';
import { RECORDS } from '../domains/index.ts';
import type { Dump } from '../store/dump.ts';
import { openDump } from '../store/open.ts';
import { type Manifest, readExport, writeExport } from './dump-files.ts';
import { Progress } from './progress.ts';

const RUN = 'npm run --silent data --';

const USAGE = `Usage: ${RUN} export DIR
       ${RUN} import DIR

export  writes everything that the store holds to a new directory DIR: records, API keys with their hashes,
        webhooks with their secrets, trusted documents, counters of ids, and usage. Beside a server on an
        embedded store it is one snapshot.
import  fills an empty store from DIR. An import that was interrupted is completed by running it again; until
        then the store is not served.

Uses the store of MONGODB_URI or DATA_FILE. Events and outcomes of idempotent calls are not moved. A moved
webhook begins at the new store's log. DIR holds hashes and secrets: treat it like a backup.`;

/** A mistake of the user: the message is printed without a stack. */
class UsageError extends Error {}

type Command = (directory: string, dump: Dump, progress: Progress) => Promise<Manifest>;

const COMMANDS: Record<'export' | 'import', Command> = {
  export: (directory, dump, progress) =>
    writeExport(directory, dump, (part, rows) => progress.show(part, rows), new Date()),
  import: (directory, dump, progress) =>
    readExport(
      directory,
      dump,
      (part, rows, total) => progress.show(`checking ${part}`, rows, total),
      (part, rows, total) => progress.show(part, rows, total),
    ),
};

async function main(): Promise<void> {
  const { name, directory } = parse();
  if (name === undefined) return print(USAGE);
  const progress = new Progress(process.stderr);
  const dump = await openDump(readConfig(process.env), RECORDS, name);
  let manifest: Manifest;
  try {
    manifest = await COMMANDS[name](directory, dump, progress);
  } finally {
    progress.clear();
    await dump.close();
  }
  const counts = manifest.parts.map(({ name, rows }) => `${rows.toLocaleString('en-US')} ${name}`);
  print(`${name === 'export' ? 'Exported' : 'Imported'} ${counts.join(', ')}.`);
}

function parse(): { name: 'export' | 'import' | undefined; directory: string } {
  let parsed: ReturnType<typeof parseArguments>;
  try {
    parsed = parseArguments();
  } catch (error) {
    throw usageError((error as Error).message.split('. ')[0]!.replace(/\.?$/, '.'));
  }
  const [name, directory, ...rest] = parsed.positionals;
  if (parsed.values.help || name === undefined) return { name: undefined, directory: '' };
  if (name !== 'export' && name !== 'import') throw usageError(`Unknown command ${name}.`);
  if (directory === undefined) throw usageError(`${name} needs a directory.`);
  if (rest[0] !== undefined) throw usageError(`${name} does not accept the argument ${rest[0]}.`);
  return { name, directory };
}

const parseArguments = () =>
  parseArgs({ allowPositionals: true, options: { help: { type: 'boolean', short: 'h' } } });

const usageError = (message: string) => new UsageError(`${message} Try: ${RUN} --help`);

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(error instanceof UsageError ? 2 : 1);
});
