import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { findDamage } from './damage.ts';

/** Time limit for the check at startup, in milliseconds: large files are checked only partly. */
const CHECK_TIMEOUT = 2_000;
const EXIT_CORRUPT = 3;

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
  const timer = setTimeout(() => child.kill('SIGKILL'), CHECK_TIMEOUT);
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) => {
    child.on('close', (...end) => resolve(end));
    child.on('error', () => resolve([0, null]));
  });
  clearTimeout(timer);
  const isAborted = signal !== null && signal !== 'SIGKILL';
  if (code !== EXIT_CORRUPT && !isAborted) return;
  throw new Error(
    `The data file ${file} is damaged: ${finding.trim() || 'it cannot be read'}. Restore a backup or use another file.`,
  );
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch {
    return 0;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const finding = findDamage(process.argv[2]!);
  if (finding !== undefined) process.stdout.write(finding);
  process.exit(finding === undefined ? 0 : EXIT_CORRUPT);
}
