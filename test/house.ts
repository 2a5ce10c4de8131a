/**
 * Measures how the sources are laid out, and fails if a figure is worse than its recorded limit: what a domain and a
 * transport take, lines, imports that run up a floor, and how many files and switches a call crosses. `npm run house`
 * prints them all.
 *
 * A file is crossed if one of its functions began during the call. A switch is a function that begins in another file
 * than the function that began before it: what a reader who follows the call has to open. `npm run house -- --entries`
 * lists how often each file was entered so.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = new URL('../src/', import.meta.url).href;

/** The largest figures that are acceptable. Lower them as the sources shrink. */
const LIMITS: Readonly<Record<string, number>> = {
  'files of a child type': 4,
  'lines of a child type': 150,
  'files of a transport': 3,
  'files that import a transport': 1,
  'imports that run up': 0,
  'lines of src': 33_000,
  'lines of test': 37_100,
  'files of GET /pets/{id}': 39,
  'switches of GET /pets/{id}': 60,
  'files of POST /pets': 53,
  'switches of POST /pets': 90,
  'files of a nested query': 58,
  'switches of a nested query': 195,
  'files of a page of events': 48,
  'switches of a page of events': 140,
};

/** From the ground up. Folders on one floor may import each other. */
const FLOORS: readonly (readonly string[])[] = [
  ['foundation'],
  ['store'],
  ['access'],
  ['kit', 'rows'],
  ['domains'],
  ['operations', 'events', 'webhooks'],
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

const imports = filesBelow('src', /\.tsx?$/).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/from '(\.[^']*)'/g)].map(([, path]) => ({
    file,
    target: resolve(dirname(file), path!),
  })),
);

/** Whether nothing above the store knows a database, and no transport knows another. */
const isSideways = (file: string, target: string): boolean => {
  const [from, to] = [file, target].map((path) => relative(join(ROOT, 'src'), path).split('/'));
  if (to![0] === 'store' && (to![1] === 'sqlite' || to![1] === 'mongo')) return from![0] !== 'store';
  return (
    from![0] === 'transports' && to![0] === 'transports' && !!from![2] && !!to![2] && from![1] !== to![1]
  );
};

/** Imports from a floor to one above it. Files that belong to no floor, such as `main.ts`, may import anything. */
const up = imports
  .filter(
    ({ file, target }) => floorOf(file) >= 0 && (floorOf(target) > floorOf(file) || isSideways(file, target)),
  )
  .map(({ file, target }) => `${relative(ROOT, file)} → ${relative(ROOT, target)}`);

/** The files outside of a folder that import from it. */
const importersOf = (folder: string) =>
  new Set(
    imports.flatMap(({ file, target }) => {
      const isBelow = (path: string) => path.startsWith(join(ROOT, folder, '/'));
      return isBelow(target) && !isBelow(file) ? file : [];
    }),
  );

/** Functions that the sources do not have: V8's for the fields of classes, and esbuild's for the names of functions. */
const GENERATED = new Set(['<instance_members_initializer>', '__name']);

/** What a call entered: for each source, how often control came into a function of it from one of another source. */
type Entries = ReadonlyMap<string, number>;

const sumOf = (entries: Entries): number => [...entries.values()].reduce((sum, count) => sum + count, 0);

/**
 * Follows control through the sources, in the order in which functions begin. Only functions that an earlier call
 * ran are seen, so a call has to be made before.
 */
class Tracer {
  readonly #session = new Session();
  /** The sources of the functions that began, one after another. */
  readonly #begun: string[] = [];

  async start(): Promise<void> {
    Object.assign(globalThis, { begun: (source: string) => void this.#begun.push(source) });
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await this.#session.post('Debugger.enable');
  }

  /** Marks the first statement of each function that has run by a breakpoint whose condition notes it and is false. */
  async mark(): Promise<void> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    for (const { scriptId, url, functions } of result) {
      if (!url.startsWith(SOURCES)) continue;
      const { scriptSource } = await this.#session.post('Debugger.getScriptSource', { scriptId });
      const placeOf = (offset: number) => {
        const lines = scriptSource.slice(0, offset).split('\n');
        return { scriptId, lineNumber: lines.length - 1, columnNumber: lines.at(-1)!.length };
      };
      const condition = `begun(${JSON.stringify(url.slice(SOURCES.length))})`;
      for (const { functionName, ranges } of functions) {
        const { startOffset, endOffset, count } = ranges[0]!;
        // The module itself begins at 0.
        if (count === 0 || startOffset === 0 || GENERATED.has(functionName)) continue;
        const { locations } = await this.#session.post('Debugger.getPossibleBreakpoints', {
          start: placeOf(startOffset),
          end: placeOf(endOffset),
          restrictToFunction: true,
        });
        // A second breakpoint in the same place is refused.
        if (locations[0])
          await this.#session
            .post('Debugger.setBreakpoint', { location: locations[0], condition })
            .catch(() => {});
      }
    }
  }

  async entriesOf(work: () => Promise<unknown>): Promise<Entries> {
    this.#begun.length = 0;
    await work();
    const entries = new Map<string, number>();
    this.#begun.forEach((source, i) => {
      if (source !== this.#begun[i - 1]) entries.set(source, (entries.get(source) ?? 0) + 1);
    });
    return entries;
  }

  stop(): void {
    this.#session.disconnect();
  }
}

function listEntries(name: string, entries: Entries): void {
  console.log(`${name} enters`);
  for (const [source, count] of [...entries].sort(([, a], [, b]) => b - a))
    console.log(`${String(count).padStart(7)}  ${source}`);
}

async function crossings(): Promise<Record<string, number>> {
  const tracer = new Tracer();
  await tracer.start();
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
    // The first calls prepare and cache what later ones use.
    for (let i = 0; i < 5; i++) for (const work of Object.values(calls)) await work();
    await tracer.mark();
    for (const [name, work] of Object.entries(calls)) {
      // What runs beside a call, such as a timer, can only add entries.
      let entries = await tracer.entriesOf(work);
      for (let i = 0; i < 10; i++) {
        const again = await tracer.entriesOf(work);
        if (sumOf(again) < sumOf(entries)) entries = again;
      }
      figures[`files of ${name}`] = entries.size;
      figures[`switches of ${name}`] = sumOf(entries);
      if (process.argv.includes('--entries')) listEntries(name, entries);
    }
    return figures;
  } finally {
    tracer.stop();
    await gateway.close();
    await opened.close();
  }
}

/** The transport that was added last. */
const TRANSPORT = 'src/transports/mcp';
const fixture = filesBelow('test/fixtures/appointment', /\.ts$/);
const figures: Record<string, number> = {
  'files of a child type': fixture.length + 1,
  'lines of a child type': linesOf(fixture) + 3,
  'files of a transport': filesBelow(TRANSPORT, /\.ts$/).length,
  'files that import a transport': importersOf(TRANSPORT).size,
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
