import type { Command } from 'commander';
import { readConfig } from '../config.ts';
import { RECORDS } from '../domains/index.ts';
import { openDumpSource, openDumpTarget } from '../store/open.ts';
import { type Report, reports, using } from './command.ts';
import { checkExport, type Manifest, readExport, writeExport } from './dump-files.ts';
import { Progress } from './progress.ts';
import { wrap } from './table.ts';

/** The commands below `petstore data`. */
export function dataCommands(data: Command): void {
  const exporting = data.command('export <dir>');
  exporting.description(
    `Write everything that the store holds to a new directory: records, API keys with their hashes, webhooks with their secrets, trusted documents, and usage; treat it like a backup. Events and outcomes of idempotent calls stay behind. Beside a server on an embedded store it is one snapshot.`,
  );
  reports(exporting, ([directory]) => exportTo(directory!));
  const importing = data.command('import <dir>');
  importing.description(
    `Fill an empty store from an export, of either engine. One that was interrupted is begun again; a half-filled store is not served.`,
  );
  reports(importing, ([directory]) => importFrom(directory!));
}

async function exportTo(directory: string): Promise<Report> {
  const config = readConfig(process.env);
  const manifest = await withProgress((show) =>
    using(
      config,
      () => openDumpSource(config, RECORDS),
      (source) => writeExport(directory, source, show),
    ),
  );
  return report('Exported', manifest);
}

async function importFrom(directory: string): Promise<Report> {
  const config = readConfig(process.env);
  const manifest = await withProgress(async (show) => {
    const checked = await checkExport(directory, show);
    await using(
      config,
      () => openDumpTarget(config, RECORDS),
      (target) => readExport(directory, checked, target, show),
    );
    return checked;
  });
  return report('Imported', manifest);
}

async function withProgress<T>(work: (show: Progress['show']) => Promise<T>): Promise<T> {
  const progress = new Progress(process.stderr);
  return await work(progress.show).finally(progress.clear);
}

function report(done: string, manifest: Manifest): Report {
  const counts = manifest.parts.map(({ name, rows }) => `${rows.toLocaleString('en-US')} ${name}`);
  return { value: manifest, lines: wrap(`${done} ${counts.join(', ')}.`, 80) };
}
