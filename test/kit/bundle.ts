import type { TestProject } from 'vitest/node';
import { bundlePages, bundlePrograms } from '../../bundle.ts';
import { selectedFiles } from './selected-files.ts';

/** Builds the scripts of the pages, if they have changed, and the programs, if a test starts one. */
export async function setup(project: TestProject): Promise<void> {
  const isProgramUsed = selectedFiles(project, /\bdist\//).length > 0;
  await Promise.all([bundlePages(), isProgramUsed && bundlePrograms()]);
}
