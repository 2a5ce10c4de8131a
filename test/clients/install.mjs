import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/**
 * Installs what package-lock.json of this folder names, unless it is installed. It is not part of the gateway's own
 * dependencies, so that starting the gateway does not need it.
 */
const here = fileURLToPath(new URL('.', import.meta.url));
const lock = readFileSync(`${here}package-lock.json`, 'utf8');
const installed = `${here}node_modules/.installed`;
if (!existsSync(installed) || readFileSync(installed, 'utf8') !== lock) {
  console.log('Installing the clients and generators that the tests try …');
  const options = ['--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['ci', ...options], {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
  writeFileSync(installed, lock);
}
