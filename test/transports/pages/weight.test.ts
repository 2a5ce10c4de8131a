import { expect, it } from 'vitest';
import { send, sqlite, useGateway } from '../../kit/petstore.ts';

const kit = useGateway(sqlite);

const BROWSER = { accept: 'text/html', 'accept-encoding': 'br, gzip' };

/** Bytes of a response as transferred. */
async function transferred(path: string): Promise<number> {
  const { status, headers } = await send(kit.gateway, `HEAD ${path}`, { key: null, headers: BROWSER });
  expect(status, path).toBe(200);
  return Number(headers['content-length']);
}

/** A script with all that it refers to: chunks, workers, and scripts that it loads. */
async function scriptsFrom(path: string, isEditor: boolean, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(path)) return found;
  found.add(path);
  const { text } = await send(kit.gateway, path, { key: null });
  // Chunks are imported relative to the folder; everything else is named by its path.
  for (const [, file] of text.matchAll(/["'](?:\.\/|\/explorer\/)([\w.-]+\.js)["']/g)) {
    // The names of the editor's workers are in a chunk that all pages share.
    const isUsed = isEditor || !/^(editor|json|graphql)-/.test(file!);
    if (isUsed && !path.includes('/scalar-')) await scriptsFrom(`/explorer/${file}`, isEditor, found);
  }
  return found;
}

/** What a module imports, and the scripts that it loads at once; without chunks that are imported later. */
async function neededBy(path: string, found = new Set<string>()): Promise<Set<string>> {
  const { text } = await send(kit.gateway, path, { key: null });
  for (const [, chunk] of text.matchAll(/(?:from|import)\s*["'](?:\.|\/explorer)\/([\w.-]+)["']/g)) {
    const file = `/explorer/${chunk}`;
    if (!found.has(file)) await neededBy(file, found.add(file));
  }
  for (const [, file] of text.matchAll(/["'](\/explorer\/scalar-[\w.-]+)["']/g)) found.add(file!);
  return found;
}

const sum = async (paths: Iterable<string>): Promise<number> => {
  let bytes = 0;
  for (const path of paths) bytes += await transferred(path);
  return bytes;
};

/**
 * `first` is what a browser needs before the first text: the page, its style sheet and blocking scripts. At the
 * 200 kB a second of slow 4G, 40 kB leave time for three round trips within 1.5 seconds.
 */
it.each([
  { page: '/', first: 10_000, all: 30_000, files: 10 },
  { page: '/console', first: 10_000, all: 30_000, files: 10 },
  { page: '/docs', first: 10_000, all: 1_000_000, files: 10 },
  { page: '/graphql', first: 40_000, all: 1_350_000, files: 40 },
])(
  'loads at most $first bytes before the first text of $page, and $all in at most $files files in all',
  async ({ page, first, all, files }) => {
    const { text } = await send(kit.gateway, page, { key: null, headers: { accept: 'text/html' } });
    const paths = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, path]) => path!);
    const styles = paths(/<link rel="stylesheet" href="([^"]+)"/g);
    const blocking = paths(/<script src="([^"]+)"/g);
    const [module] = paths(/<script type="module" src="([^"]+)"/g);
    expect(styles).toHaveLength(1);
    const before = (await transferred(page)) + (await sum([...styles, ...blocking]));
    expect(before).toBeGreaterThan(2_000);
    expect(before).toBeLessThan(first);
    const scripts = await scriptsFrom(module!, page === '/graphql');
    const total = before + (await sum(scripts));
    expect(scripts.size).toBeGreaterThan(1);
    expect(total).toBeGreaterThan(before + 2_000);
    expect(total).toBeLessThan(all);
    expect(1 + styles.length + blocking.length + scripts.size).toBeLessThanOrEqual(files);
    // The page names what its script needs, so that nothing is found out only when something else has arrived.
    const named = paths(/<link rel="(?:modulepreload|preload)"[^>]* href="([^"]+)"/g);
    expect(named.toSorted()).toEqual([...(await neededBy(module!))].toSorted());
  },
);
