import { existsSync, readFileSync } from 'node:fs';
import type { TestProject } from 'vitest/node';
import { bundlePages, bundlePrograms } from '../../bundle.ts';
import { selectedFiles } from './selected-files.ts';

const CLIENTS = 'test/clients';

/**
 * Builds the pages, if they have changed, for tests that look at them, and the programs for those that start one.
 *
 * @throws Error if clients are not installed that a test tries
 */
export async function setup(project: TestProject): Promise<void> {
  const selects = (pattern: RegExp) => selectedFiles(project, pattern).length > 0;
  if (selects(/(test|\.)\/clients\//) && !areClientsInstalled())
    throw new Error('The clients that tests try are missing or old: run `node test/clients/install.mjs`.');
  const arePagesUsed = !existsSync('dist/pages.sha256') || selects(/transports\/pages|kit\/browser|\bdist\//);
  await Promise.all([arePagesUsed && bundlePages(), selects(/\bdist\//) && bundlePrograms()]);
}

/** True if install.mjs has installed what the lockfile names. */
function areClientsInstalled(): boolean {
  const installed = `${CLIENTS}/node_modules/.installed`;
  const lock = readFileSync(`${CLIENTS}/package-lock.json`, 'utf8');
  return existsSync(installed) && readFileSync(installed, 'utf8') === lock;
}
