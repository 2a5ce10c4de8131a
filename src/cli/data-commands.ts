import { Argument, type Command, InvalidArgumentError } from 'commander';
import { readConfig } from '../config.ts';
import { api } from '../api.ts';
import { MAX_INT32 } from '../foundation/id.ts';
import { backUpStore, openDumpTarget } from '../store/open.ts';
import { counted, grouped } from '../foundation/words.ts';
import type { Store } from '../store/store.ts';
import { integerFrom, type Report, reports, reportsOnStore, using } from './command.ts';
import {
  contentsOf,
  type Manifest,
  type OnProgress,
  readExport,
  readManifest,
  writeExport,
} from './dump-files.ts';
import { type LoadOptions, load } from './load.ts';
import { printable, wrap } from './text-table.ts';

/** The commands below `petstore data`. */
export function define(data: Command): void {
  const loading = data
    .command('load')
    .description(
      `Add records from a file, under the same rules and with the same events as any write, even while a server is running. The file is CSV (with a header; comma, semicolon or tab), one JSON object per line or a JSON array, in UTF-8 and of any length. Columns are fields of the record; a reference is an id (categoryId) or its parent's name (category.name). The whole file is checked before anything is written.`,
    );
  loading
    .addArgument(new Argument('<kind>', 'what to add').choices(api.records.map(({ plural }) => plural)))
    .argument('<file>', 'the file; - for standard input')
    .option('--dry-run', 'only check the file', false)
    .option('--create-parents', 'create parents whose names no record has', false)
    .option(
      '--from <line>',
      'continue from this line, as printed by an interrupted load',
      integerFrom(1, MAX_INT32),
    )
    .option('--map <column=field>', 'the field for a column; may be repeated', mapped, new Map())
    .option('--ignore-unknown', 'ignore columns that are not fields', false)
    .option(
      '--update',
      'change existing records with the ids of rows, instead of refusing these rows',
      false,
    );
  reportsOnStore(loading, loadFrom, { createsStore: true, contents: api });

  const backingUp = data.command('backup <file>');
  backingUp.description(
    `Copy an embedded store as of now to a new file, even while a server is writing. To restore it, put it in place of DATA_FILE.`,
  );
  reports(backingUp, backUp);

  const exporting = data.command('export <dir>');
  exporting.description(
    `Write everything in the store to a new directory: records, ${contentsOf(api)}. Treat it like a backup. Events and outcomes of idempotent calls are not exported. An embedded store is exported as a single snapshot, even while a server is running.`,
  );
  reportsOnStore(exporting, exportTo, { contents: api, role: 'snapshot' });
  const importing = data.command('import <dir>');
  importing.description(
    `Fill an empty store from an export of either engine. Start an interrupted import again: a half-filled store is not served.`,
  );
  reports(importing, importFrom);
}

/** Adds a `COLUMN=FIELD` to earlier ones. */
function mapped(text: string, before: ReadonlyMap<string, string>): Map<string, string> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be like "Category Name=category.name".');
  return new Map(before).set(text.slice(0, at).trim(), text.slice(at + 1).trim());
}

/** The interval between reports of progress, in milliseconds. */
const TELL_EVERY = 1_000;

async function loadFrom(
  store: Store,
  kind: string,
  file: string,
  options: Omit<LoadOptions, 'record' | 'file' | 'onProgress' | 'signal'>,
): Promise<Report> {
  const record = api.records.find(({ plural }) => plural === kind)!;
  let toldAt = Number.NEGATIVE_INFINITY;
  const onProgress = (next: number, loaded: number, isLast: boolean) => {
    const now = performance.now();
    if (!isLast && now < toldAt + TELL_EVERY) return;
    toldAt = now;
    const text = `Loaded ${counted(loaded, record.kind, kind)}; next is line ${next}`;
    // Lines stay readable if the process is killed.
    if (process.stderr.isTTY) redraw(text);
    else process.stderr.write(`${text}\n`);
  };
  const stopping = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'])
    process.once(signal, () => stopping.abort(new Error(`stopped by ${signal}`)));
  return load(store, { ...options, record, file, onProgress, signal: stopping.signal }).finally(redraw);
}

async function backUp(file: string): Promise<Report> {
  const config = readConfig(process.env);
  const bytes = await backUpStore(config, file);
  const size = grouped(Math.ceil(bytes / 1e6));
  return { value: { file, bytes }, lines: [`Backed up ${config.DATA_FILE} to ${file} (${size} MB).`] };
}

async function exportTo(store: Store, directory: string): Promise<Report> {
  const written = await writeExport(directory, store, api, show).finally(redraw);
  return report('Exported', written);
}

async function importFrom(directory: string): Promise<Report> {
  const config = readConfig(process.env);
  const manifest = await readManifest(directory, api);
  const open = () => openDumpTarget(config, api);
  await using(config, open, (target) => readExport(directory, manifest, target, api, show)).finally(redraw);
  return report('Imported', manifest);
}

/** Replaces the terminal line with a command's progress. */
function redraw(text = ''): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${printable(text)}`);
}

const show: OnProgress = (what, rows) => redraw(`${what} ${grouped(rows)}`);

function report(done: string, manifest: Manifest): Report {
  const counts = manifest.parts.map(({ name, rows }) => `${grouped(rows)} ${name}`);
  return { value: manifest, lines: wrap(`${done} ${counts.join(', ')}.`, 80) };
}
