import { isUtf8 } from 'node:buffer';
import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import Database from 'libsql';

/** Time limit for the check at startup, in milliseconds: large files are checked only partly. */
const MAX_CHECK = 2_000;
const DAMAGED = 3;
const CORRUPT = 11;

/**
 * Checks a data file for corruption. Data that libsql cannot read may abort its process, so the check runs in
 * another one.
 *
 * @throws Error if the file is corrupt; other problems surface when it is opened
 */
export async function checkDataFile(file: string): Promise<void> {
  if (sizeOf(file) === 0) return;
  const args = [...process.execArgv, fileURLToPath(import.meta.url), file];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  let finding = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    finding += text;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), MAX_CHECK);
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...end) => resolve(end));
    child.on('error', () => resolve([0, null]));
  });
  clearTimeout(timer);
  const isAborted = signal !== null && signal !== 'SIGKILL';
  if (code !== DAMAGED && !isAborted) return;
  throw new Error(
    `The data file ${file} is damaged: ${finding.trim() || 'it cannot be read'}. Put a backup in its place, or choose another file.`,
  );
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}

/** Runs in the other process: checks the structure, and that text is valid UTF-8. */
function inspect(file: string): void {
  try {
    const db = new Database(file);
    const [row] = db.prepare('pragma quick_check(1)').all() as { quick_check: string }[];
    if (row!.quick_check !== 'ok') report(row!.quick_check);
    const columns = db
      .prepare(
        `select t.name as "table", c.name as "column" from sqlite_schema t, pragma_table_info(t.name) c
         where t.type = 'table' and c.type = 'TEXT'`,
      )
      .all() as { table: string; column: string }[];
    for (const { table, column } of columns) {
      // Read as a blob, because libsql aborts on invalid text.
      const values = db.prepare(
        `select cast("${column}" as blob) from "${table}" where "${column}" is not null`,
      );
      values.raw();
      for (const [bytes] of values.iterate() as Iterable<[Buffer]>)
        if (!isUtf8(bytes)) report(`${table}.${column} has text that is no valid UTF-8`);
    }
  } catch (error) {
    const { rawCode = 0, message } = error as { rawCode?: number; message: string };
    if ((rawCode & 0xff) === CORRUPT) report(message);
  }
  process.exit(0);
}

function report(finding: string): never {
  process.stdout.write(finding.split('\n').at(-1)!);
  process.exit(DAMAGED);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) inspect(process.argv[2]!);
