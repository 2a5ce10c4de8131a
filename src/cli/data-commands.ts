import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import { RECORDS } from '../domains/index.ts';
import { openDump } from '../store/open.ts';
import { type Report, reports, using } from './command.ts';
import { readExport, writeExport } from './dump-files.ts';
import { Progress } from './progress.ts';

/** The commands below `petstore data`. */
export function dataCommands(data: Command): void {
  const exporting = data.command('export <dir>');
  exporting.description(
    `Write everything that the store holds to a new directory: records, API keys with their hashes, webhooks with their secrets, trusted documents, and usage; treat it like a backup. Events and outcomes of idempotent calls stay behind. Beside a server on an embedded store it is one snapshot.`,
  );
  reports(exporting, ([directory]) => move('export', directory!));
  const importing = data.command('import <dir>');
  importing.description(
    `Fill an empty store from an export, of either engine. One that was interrupted is begun again; a half-filled store is not served.`,
  );
  reports(importing, ([directory]) => move('import', directory!));
}

async function move(mode: 'export' | 'import', directory: string): Promise<Report> {
  const config = readConfig(process.env);
  const progress = new Progress(process.stderr);
  const work = mode === 'export' ? writeExport : readExport;
  const manifest = await using(
    config,
    () => openDump(config, RECORDS, mode),
    (dump) => work(directory, dump, progress.show).finally(progress.clear),
  );
  const counts = manifest.parts.map(({ name, rows }) => `${rows.toLocaleString('en-US')} ${name}`);
  const done = mode === 'export' ? 'Exported' : 'Imported';
  return { value: manifest, lines: [`${done} ${counts.join(', ')}.`] };
}
