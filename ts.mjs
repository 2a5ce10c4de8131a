import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { transform } from 'rolldown/utils';

/*
 * Runs TypeScript on Node 20: `node --import ./ts.mjs FILE.ts`. Later ones do so by themselves: goes when `engines` asks
 * for 22.18.
 */
if (isMainThread && !process.features.typescript) {
  process.setSourceMapsEnabled(true);
  register(import.meta.url);
}

/** Called by Node for each module, in a thread of its own. */
export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const { code, map } = await transform(file, await readFile(file, 'utf8'), { sourcemap: true });
  const inline = Buffer.from(JSON.stringify(map)).toString('base64');
  const source = `${code}\n//# sourceMappingURL=data:application/json;base64,${inline}`;
  return { format: 'module', source, shortCircuit: true };
}
