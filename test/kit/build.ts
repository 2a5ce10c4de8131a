import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/**
 * The program that tests start as a process, built from the current sources. Type errors are left to `npm run
 * types`.
 */
export function setup(): void {
  spawnSync(process.execPath, [compiler, '-b', 'tsconfig.build.json'], { stdio: 'inherit' });
}
