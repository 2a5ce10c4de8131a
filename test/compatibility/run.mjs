import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { proxies } from './proxies.mjs';
import { NotInstalled, tools } from './tools.mjs';

/**
 * Tries the tools of docs/compatibility.md on the built program, and prints a line for each: what held, or that it is not
 * installed. Proxies are Debian's packages; others are installed in a temporary folder, which is kept for the next run.
 * With arguments, only tools whose names begin like one of them.
 */
const WORK = mkdtempSync(join(tmpdir(), 'petstore-compatibility-'));
const DATA_FILE = join(WORK, 'petstore.db');
const URL_OF_GATEWAY = 'http://127.0.0.1:18200';
const server = spawn(process.execPath, ['dist/main.js'], {
  env: { ...process.env, PORT: '18200', DATA_FILE },
  stdio: 'ignore',
});
process.on('exit', () => server.kill());
const isReady = () =>
  fetch(`${URL_OF_GATEWAY}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
while (!(await isReady()) && server.exitCode === null) await sleep(200);
const KEY = readFileSync(`${DATA_FILE}.key`, 'utf8').trim();

const wanted = process.argv.slice(2);
const all = [
  ...proxies(URL_OF_GATEWAY, KEY, WORK),
  ...tools({
    URL: URL_OF_GATEWAY,
    KEY,
    ROOT: fileURLToPath(new URL('../..', import.meta.url)),
    TOOLS: join(tmpdir(), 'petstore-compatibility-tools'),
    WORK,
  }),
];
const isMeant = (name, text) => name.toLowerCase().startsWith(text.toLowerCase());
for (const text of wanted)
  if (!all.some(([name]) => isMeant(name, text))) {
    process.stdout.write(`No tool is called ${text}: ${all.map(([name]) => name).join('; ')}\n`);
    process.exit(1);
  }
for (const [name, attempt] of all) {
  if (wanted.length > 0 && !wanted.some((text) => isMeant(name, text))) continue;
  const line = await attempt().catch((error) => {
    if (error instanceof NotInstalled) return `not installed (${error.message})`;
    process.exitCode = 1;
    // Maven reports faults to its standard output, and colours its standard error.
    const texts = [error.stderr, error.stdout, error.message].map((text = '') =>
      stripVTControlCharacters(text).trim(),
    );
    return `FAILED: ${texts.find(Boolean).split('\n').slice(-5).join(' / ')}`;
  });
  process.stdout.write(`${name.padEnd(24)} ${line}\n`);
}
process.exit();
