import { RECORDS } from '../domains/index.ts';
import type { Dump } from '../store/dump.ts';
import { openDump } from '../store/open.ts';
import { readExport, writeExport } from './dump-files.ts';
import { Progress } from './progress.ts';
import { type Command, runTool } from './tool.ts';

type Mode = 'export' | 'import';

const command = (done: string, work: typeof readExport, help: string): Command<Dump> => ({
  usage: 'DIR',
  help,
  async run({ args: [directory], open }) {
    const dump = await open();
    const progress = new Progress(process.stderr);
    const manifest = await work(directory!, dump, progress.show).finally(progress.clear);
    const counts = manifest.parts.map(({ name, rows }) => `${rows.toLocaleString('en-US')} ${name}`);
    return { value: manifest, lines: [`${done} ${counts.join(', ')}.`] };
  },
});

const COMMANDS: Record<Mode, Command<Dump>> = {
  export: command(
    'Exported',
    writeExport,
    `Writes everything that the store holds to a new directory DIR: records, API keys with their hashes, webhooks with their
secrets, trusted documents, counters of ids, and usage. Beside a server on an embedded store it is one snapshot.`,
  ),
  import: command(
    'Imported',
    readExport,
    `Fills an empty store from DIR. An import that was interrupted is completed by running it again; until then the store is
not served.`,
  ),
};

runTool({
  name: 'data',
  commands: COMMANDS,
  help: `See COMMAND --help for details. Uses the store of MONGODB_URI or DATA_FILE. Events and outcomes of idempotent calls are
not moved. A moved webhook begins at the new store's log. DIR holds hashes and secrets: treat it like a backup.`,
  open: (config, _command, name) => openDump(config, RECORDS, name as Mode),
});
