import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const compiler = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** What the tests start as processes, made of the sources as they are; types that are wrong are for `npm run types`. */
export function setup(): void {
  spawnSync(process.execPath, [compiler, '-b', 'tsconfig.build.json'], { stdio: 'inherit' });
}
