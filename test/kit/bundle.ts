import { existsSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { bundlePages, bundlePrograms } from '../../bundle.ts';
import { selectedFiles } from './selected-files.ts';

/** Builds the pages, if they have changed, for tests that look at them, and the programs for those that start one. */
export async function setup(project: TestProject): Promise<void> {
  const selects = (pattern: RegExp) => selectedFiles(project, pattern).length > 0;
  const arePagesUsed = !existsSync('dist/pages.sha256') || selects(/transports\/pages|kit\/browser|\bdist\//);
  await Promise.all([arePagesUsed && bundlePages(), selects(/\bdist\//) && bundlePrograms()]);
}
