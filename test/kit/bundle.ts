import { bundlePages, bundlePrograms } from '../../bundle.ts';

/** Builds the programs that tests start as processes and the scripts of the pages from the current sources. */
export async function setup(): Promise<void> {
  await Promise.all([bundlePrograms(), bundlePages()]);
}
