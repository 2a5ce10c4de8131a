import { build } from 'esbuild';
import { bundlePages, bundlePrograms } from '../../bundle.ts';

/** Programs of tests that open a store in a process of their own. */
const PROGRAMS = ['one-server', 'endless-writer'].map((name) => `test/store/sqlite/${name}.ts`);

/** Builds the programs that tests start as processes and the scripts of the pages from the current sources. */
export async function setup(): Promise<void> {
  const testPrograms = build({
    entryPoints: PROGRAMS,
    outdir: 'dist/test',
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
  });
  await Promise.all([bundlePrograms(), bundlePages(), testPrograms]);
}
