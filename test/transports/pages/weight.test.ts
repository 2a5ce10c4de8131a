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

const sum = async (paths: string[]): Promise<number> =>
  (await Promise.all(paths.map(transferred))).reduce((bytes, each) => bytes + each, 0);

/**
 * `first` is what a browser needs before the first text: the page, its style sheets and blocking scripts. At the
 * 200 kB a second of slow 4G, 40 kB leave time for three round trips within 1.5 seconds. `all` adds the scripts that it runs.
 */
it.each([
  { page: '/', first: 12_000, all: 30_000 },
  { page: '/console', first: 10_000, all: 30_000 },
  { page: '/guides/interface', first: 40_000, all: 45_000 },
  { page: '/docs', first: 16_000, all: 1_100_000 },
  { page: '/graphql', first: 50_000, all: 500_000 },
])(
  'loads at most $first bytes before the first text of $page, and $all in all',
  async ({ page, first, all }) => {
    const { text } = await send(kit.gateway, page, { key: null, headers: { accept: 'text/html' } });
    const paths = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, path]) => path!);
    const blocking = paths(/<(?:link rel="stylesheet" crossorigin href|script\s+src)="([^"]+)"/g);
    expect(blocking.length).toBeGreaterThan(1);
    const before = await sum([page, ...blocking]);
    const scripts = paths(
      /<(?:script\s+type="module"[^>]* src|script\s+defer[^>]* src|link\s+rel="modulepreload"[^>]* href)="([^"]+)"/g,
    );
    const total = before + (await sum(scripts));
    expect(before).toBeLessThan(first);
    expect(total).toBeLessThan(all);
  },
);
