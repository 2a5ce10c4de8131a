import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { build, type Plugin } from 'rolldown';

const ROOT = fileURLToPath(new URL('.', import.meta.url));

/** The programs, by their files below src and dist. */
const PROGRAMS = ['petstore', 'main', 'cli/keys', 'program'];

/** Leaves out the translations of zod's messages, 0.4 MB: all are loaded otherwise, and only English is used. */
const onlyEnglish: Plugin = {
  name: 'only English',
  load: (id) => (id.endsWith('zod/v4/locales/index.js') ? `export { default as en } from './en.js';` : null),
};

/**
 * Libraries that others load for what is never called here, a quarter of the server's source: a serialiser of results,
 * and the directive and rule of graphql-rate-limit.
 */
const UNUSED: Readonly<Record<string, readonly string[]>> = {
  'graphql-jit': ['fast-json-stringify'],
  'graphql-rate-limit': ['@graphql-tools/utils', 'graphql-shield'],
};

const withoutUnused: Plugin = {
  name: 'without unused',
  resolveId(source, importer = '') {
    const [, library = ''] = /\/node_modules\/([\w-]+)\//.exec(importer) ?? [];
    return UNUSED[library]?.includes(source) ? '\0unused' : null;
  },
  load: (id) => (id === '\0unused' ? 'module.exports = {};' : null),
};

/**
 * Escapes the characters beyond Latin-1. V8 keeps a source that has a single one at two bytes a character instead of one,
 * which are 5 MB of the server's memory.
 */
const latin1: Plugin = {
  name: 'latin1',
  renderChunk: (code) => ({
    code: code.replace(/[^\0-\xff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`),
    map: null,
  }),
};

/**
 * Bundles the server and the commands with their libraries, which takes a third off the time of a start and a seventh
 * off its memory: otherwise each loads a thousand modules. Types are not checked.
 *
 * @param root the folder with `src`, in which `dist` is written
 */
export async function bundlePrograms(root = ROOT): Promise<void> {
  const dist = join(root, 'dist');
  const { output } = await build({
    cwd: root,
    input: Object.fromEntries(PROGRAMS.map((name) => [name, `src/${name}.ts`])),
    platform: 'node',
    plugins: [onlyEnglish, withoutUnused, latin1],
    // It loads a native module.
    external: ['libsql'],
    // Nothing is removed: rolldown takes calls for free of effects that only throw, as `decodeURIComponent` may. Its
    // minifier has a removal of its own.
    treeshake: false,
    // One copy of each library: some are imported both as CommonJS and as modules.
    resolve: { mainFields: ['main', 'module'] },
    transform: {
      target: 'node20',
      // graphql-js would check each of thousands of objects in a request for a second copy of itself.
      define: { 'process.env.NODE_ENV': '"production"' },
    },
    // Source maps are for `node --enable-source-maps`, with which stacks name the sources.
    // V8 keeps the source in memory, of which comments are a fifth.
    output: {
      dir: dist,
      minify: false,
      comments: false,
      sourcemap: true,
      sourcemapExcludeSources: true,
    },
  });
  // Parts of earlier builds.
  const written = new Set<string>(output.map(({ fileName }) => fileName));
  for (const name of readdirSync(dist))
    if (/\.js(\.map)?$/.test(name) && !written.has(name)) rmSync(join(dist, name));
  // The command is run by its path.
  chmodSync(join(dist, 'petstore.js'), 0o755);
}

/**
 * Builds the pages (vite.config.ts) and renders the guides. Does nothing if nothing has changed since the last run.
 */
export async function bundlePages(): Promise<void> {
  const digest = digestOfInputs();
  const built = join(ROOT, 'dist/pages.sha256');
  if (existsSync(built) && readFileSync(built, 'utf8') === digest) return;
  // Loaded here, because the programs alone are built in a tenth of the time.
  const [{ build: buildPages }, { default: config, OUTPUT }, { renderGuides }] = await Promise.all([
    import('vite'),
    import('./vite.config.ts'),
    import('./guides.ts'),
  ]);
  // Also where tests build them: otherwise Vite would build them for development.
  const { NODE_ENV } = process.env;
  process.env.NODE_ENV = 'production';
  await buildPages({ ...config, configFile: false });
  process.env.NODE_ENV = NODE_ENV;
  const files = readdirSync(OUTPUT, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.html'))
    .map((entry) => join(entry.parentPath, entry.name));
  await Promise.all(files.map(compress));
  writeFileSync(join(ROOT, 'dist/guides.json'), JSON.stringify(renderGuides(join(ROOT, 'docs'))));
  writeFileSync(built, digest);
}

/** Takes six times as long as 9 and saves a twelfth: half a second of a slow connection. */
const BROTLI_QUALITY = 10;

/** Writes a file in every content coding we serve, so that nothing is compressed per request. */
async function compress(file: string): Promise<void> {
  const content = await readFile(file);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  await Promise.all([
    promisify(brotliCompress)(content, { params }).then((bytes) => writeFile(`${file}.br`, bytes)),
    promisify(gzip)(content, { level: 9 }).then((bytes) => writeFile(`${file}.gz`, bytes)),
  ]);
}

/**
 * The inputs: the sources, the code they share with the server, the guides, the build, and the version of every
 * library.
 */
function digestOfInputs(): string {
  const hash = createHash('sha256');
  const below = (folder: string) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const build = ['bundle.ts', 'vite.config.ts', 'guides.ts', 'package-lock.json'].map((name) =>
    join(ROOT, name),
  );
  const shared = [join(ROOT, 'src/foundation/words.ts')];
  for (const file of [
    ...below('src/transports/pages/explorer'),
    ...below('docs'),
    ...shared,
    ...build,
  ].toSorted())
    hash.update(`${relative(ROOT, file)}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

/**
 * Links the command where npx looks first. For a `bin` of this package it would install the whole package once more.
 * Without symbolic links there are the scripts of package.json.
 */
function linkCommand(): void {
  const link = join(ROOT, 'node_modules/.bin/petstore');
  try {
    rmSync(link, { force: true });
    symlinkSync('../../dist/petstore.js', link);
  } catch {}
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  linkCommand();
  await Promise.all([bundlePrograms(), bundlePages()]);
}
