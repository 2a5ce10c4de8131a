/**
 * Measures how the sources are laid out, and fails if a figure is worse than its recorded limit: what a domain takes, lines,
 * imports that run up a floor, and how many files and switches a call crosses. `npm run house` prints them all.
 *
 * Calls are counted by V8's precise coverage. A file is crossed if one of its functions ran for the call, and a switch if
 * the call left out a block of such a function: the other side of an `if`, a `?:`, an `&&` or a `??`, or what follows a
 * return.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = new URL('../src/', import.meta.url).href;

/** The largest figures that are acceptable. Lower them as the sources shrink. */
const LIMITS: Readonly<Record<string, number>> = {
  'files of a child type': 8,
  'lines of a child type': 150,
  'imports that run up': 0,
  'lines of src': 35_000,
  'lines of test': 39_800,
  'files of GET /pets/{id}': 61,
  'switches of GET /pets/{id}': 200,
  'files of POST /pets': 74,
  'switches of POST /pets': 270,
  'files of a nested query': 75,
  'switches of a nested query': 365,
  'files of a page of events': 65,
  'switches of a page of events': 245,
};

/** From the ground up. Folders on one floor may import each other. */
const FLOORS: readonly (readonly string[])[] = [
  ['foundation'],
  ['store'],
  ['access'],
  ['schema'],
  ['domains'],
  ['execution'],
  ['http'],
  ['openapi'],
  ['transports'],
];

const filesBelow = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name) && !entry.name.includes('.generated.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/node_modules|__generated__|\/generated\//.test(file));

const linesOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);

const floorOf = (file: string): number => {
  const folder = relative(join(ROOT, 'src'), file).split('/')[0]!;
  return FLOORS.findIndex((floor) => floor.includes(folder));
};

/** Imports from a floor to one above it. Files that belong to no floor, such as `main.ts`, may import anything. */
function importsUp(): string[] {
  const found: string[] = [];
  for (const file of filesBelow('src', /\.tsx?$/)) {
    if (floorOf(file) < 0) continue;
    for (const [, path] of readFileSync(file, 'utf8').matchAll(/from '(\.[^']*)'/g)) {
      const target = resolve(dirname(file), path!);
      if (floorOf(target) > floorOf(file)) found.push(`${relative(ROOT, file)} → ${relative(ROOT, target)}`);
    }
  }
  return found;
}

/** The number of sources of which a function ran during some work, and of the blocks in such functions that did not. */
async function crossedBy(
  session: Session,
  work: () => Promise<unknown>,
): Promise<{ files: number; switches: number }> {
  // The first calls prepare and cache what later ones use.
  for (let i = 0; i < 5; i++) await work();
  await session.post('Profiler.takePreciseCoverage');
  await work();
  // Since the last time.
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const crossed = result
    .filter(({ url }) => url.startsWith(SOURCES))
    .map(({ functions }) => functions.filter(({ ranges: [whole] }) => whole!.count > 0))
    .filter((functions) => functions.length > 0);
  const blocks = crossed.flat().flatMap(({ ranges: [, ...blocks] }) => blocks);
  return { files: crossed.length, switches: blocks.filter(({ count }) => count === 0).length };
}

async function crossings(): Promise<Record<string, number>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  // Blocks are counted only of what is loaded from now on.
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  const { Clock, TestGateway } = await import('./kit/gateway.ts');
  const { makeWorld, query, send, sqlite } = await import('./kit/petstore.ts');
  const clock = new Clock();
  const opened = await sqlite.open(clock.now);
  const gateway = await TestGateway.start(opened.store, {}, clock);
  try {
    const { C, P } = await makeWorld({ gateway, clock, opened });
    const body = { name: 'Rex', categoryId: Number(C) };
    const nested =
      '{ categories(first: 2) { nodes { name pets(first: 2) { nodes { name orders { totalCount } } } } } }';
    const calls: Record<string, () => Promise<unknown>> = {
      'GET /pets/{id}': () => send(gateway, `/pets/${P}`),
      'POST /pets': () => send(gateway, 'POST /pets', { body }),
      'a nested query': () => query(gateway, nested),
      'a page of events': () => send(gateway, '/events?limit=2'),
    };
    const figures: Record<string, number> = {};
    for (const [name, work] of Object.entries(calls)) {
      const { files, switches } = await crossedBy(session, work);
      figures[`files of ${name}`] = files;
      figures[`switches of ${name}`] = switches;
    }
    return figures;
  } finally {
    session.disconnect();
    await gateway.close();
    await opened.close();
  }
}

const fixture = filesBelow('test/fixtures/vaccination', /\.ts$/);
const up = importsUp();
const figures: Record<string, number> = {
  'files of a child type': fixture.length + 1,
  'lines of a child type': linesOf(fixture) + 3,
  'imports that run up': up.length,
  'lines of src': linesOf(filesBelow('src', /\.(tsx?|css)$/)),
  'lines of test': linesOf(filesBelow('test', /\.tsx?$/)),
  ...(await crossings()),
};
let isWorse = false;
for (const [name, figure] of Object.entries(figures)) {
  const limit = LIMITS[name];
  const isOver = limit !== undefined && figure > limit;
  isWorse ||= isOver;
  console.log(`${String(figure).padStart(7)}  ${name}${isOver ? `: more than ${limit}` : ''}`);
}
for (const each of up) console.log(`         ${each}`);
process.exitCode = isWorse ? 1 : 0;
