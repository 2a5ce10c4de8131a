/**
 * Measures how the sources are laid out, and fails if a figure is worse than its limit: `npm run house` prints what a
 * domain and a transport take, lines and statements, imports that run up a floor or sideways, and how many files a call runs.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'rolldown/utils';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SOURCES = new URL('../src/', import.meta.url).href;

/** The largest figures that are acceptable, with 5 % of room, so that a new type fits in. Lower them as the sources shrink. */
const LIMITS: Readonly<Record<string, number>> = {
  'files of a child type': 3,
  'lines of a child type': 70,
  'files of a transport': 3,
  'imports up or sideways': 0,
  'files of a feature outside its rooms': 6,
  'files of src': 239,
  'statements of src': 14_831,
  'statements of test': 18_975,
  'files of GET /pets/{id}': 35,
  'files of POST /pets': 55,
  'files of a nested query': 51,
  'files of a page of events': 47,
};

/** The rooms of the drawing in docs/architecture.md, from the top down: folders of src, and files such as `config.ts`. */
const ROOMS: readonly string[] = [
  ...readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8').matchAll(/^src\/([\w.-]+?)\/? {2,}/gm),
].map(([, room]) => room!);

const filesBelow = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && ending.test(entry.name) && !entry.name.includes('.generated.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !/node_modules|\/generated\//.test(file));

const linesOf = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1, 0);

/** Syntax that is a statement or a declaration on its own, or a member of a class or an interface. */
const STATEMENT =
  /^(?!Block|Empty|Export).*(Statement|Declaration)$|^(Method|Property)Definition$|^TS(Property|Method)Signature$/;

/** Statements, because lines can be saved by the way that code is written, and Prettier adds others. */
const statementsOf = (files: readonly string[]): number =>
  files
    .filter((file) => !file.endsWith('.css'))
    .reduce((sum, file) => sum + statementsBelow(parseSync(file, readFileSync(file, 'utf8')).program), 0);

function statementsBelow(node: unknown): number {
  if (typeof node !== 'object' || node === null) return 0;
  const own = 'type' in node && STATEMENT.test(String(node.type)) ? 1 : 0;
  return Object.values(node).reduce((sum: number, child: unknown) => sum + statementsBelow(child), own);
}

/** The room of a file; undefined for files of the process itself, such as `serve.ts`, and commands. */
function roomOf(file: string): string | undefined {
  const [folder] = relative(join(ROOT, 'src'), file).split('/');
  if (folder !== 'cli' && statSync(join(ROOT, 'src', folder!)).isDirectory() && !ROOMS.includes(folder!))
    throw new Error(`src/${folder} is missing in the drawing of docs/architecture.md.`);
  return ROOMS.find((room) => room === folder);
}

/** True for an import of a room that is drawn above, of an engine from outside the store, and of another transport. */
function isMisplaced(file: string, target: string): boolean {
  const from = roomOf(file);
  if (from === undefined) return false;
  const to = roomOf(target);
  if (to === undefined || ROOMS.indexOf(to) < ROOMS.indexOf(from)) return true;
  const [own, other] = [file, target].map((path) => relative(join(ROOT, 'src'), path).split('/'));
  if (to === 'store' && /^(sqlite|mongo)$/.test(other![1]!)) return from !== 'store';
  const areTransports = from === 'transports' && to === 'transports';
  return areTransports && own!.length > 2 && other!.length > 2 && own![1] !== other![1];
}

const misplaced = filesBelow('src', /\.tsx?$/).flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from |import\()'(\.[^']*)'/g)]
    .map(([, path]) => resolve(dirname(file), path!))
    .filter((target) => isMisplaced(file, target))
    .map((target) => `${relative(ROOT, file)} → ${relative(ROOT, target)}`),
);

/** The files that taking webhooks out touches: those that name them, except for their own, which are called after them. */
const touched = filesBelow('src', /\.(tsx?|css|html)$/)
  .filter((file) => !/webhook/.test(relative(ROOT, file)))
  .filter((file) => /webhook/i.test(readFileSync(file, 'utf8')))
  .map((file) => `${relative(ROOT, file)} names webhooks`);

/** For each call, the files of which a function ran. What runs beside it, such as a timer, can only add some. */
async function filesOfCalls(): Promise<Record<string, number>> {
  const { Clock, TestGateway } = await import('./kit/gateway.ts');
  const { makeWorld, query, send, sqlite } = await import('./kit/petstore.ts');
  const clock = new Clock();
  const opened = await sqlite.open(clock.now);
  const gateway = await TestGateway.start(opened.store, {}, clock);
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
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const filesSinceLast = async () => {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const isRun = ({ ranges }: (typeof result)[0]['functions'][0]) => ranges[0]!.count > 0;
    return result.filter(({ url, functions }) => url.startsWith(SOURCES) && functions.some(isRun)).length;
  };
  const figures: Record<string, number> = {};
  // The first calls prepare and cache what later ones use.
  for (let i = 0; i < 10; i++)
    for (const [name, work] of Object.entries(calls)) {
      await filesSinceLast();
      await work();
      const files = await filesSinceLast();
      figures[`files of ${name}`] = Math.min(files, figures[`files of ${name}`] ?? files);
    }
  session.disconnect();
  await gateway.close();
  await opened.close();
  return figures;
}

const fixture = filesBelow('test/fixtures/appointment', /\.ts$/);
const sources = filesBelow('src', /\.(tsx?|css)$/);
const figures: Record<string, number> = {
  'files of a child type': fixture.length + 1,
  'lines of a child type': linesOf(fixture) + 3,
  // The transport that was added last.
  'files of a transport': filesBelow('src/transports/mcp', /\.ts$/).length,
  'imports up or sideways': misplaced.length,
  'files of a feature outside its rooms': touched.length,
  'files of src': sources.length,
  'lines of src': linesOf(sources),
  'statements of src': statementsOf(sources),
  'lines of test': linesOf(filesBelow('test', /\.tsx?$/)),
  'statements of test': statementsOf(filesBelow('test', /\.tsx?$/)),
  ...(await filesOfCalls()),
};
for (const [name, figure] of Object.entries(figures)) {
  const isOver = figure > (LIMITS[name] ?? Number.POSITIVE_INFINITY);
  if (isOver) process.exitCode = 1;
  console.log(`${String(figure).padStart(7)}  ${name}${isOver ? `: more than ${LIMITS[name]}` : ''}`);
}
for (const each of [...misplaced, ...(touched.length > 6 ? touched : [])]) console.log(`         ${each}`);
