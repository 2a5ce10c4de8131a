import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import type { Manifest, PageFiles } from './src/transports/pages/bundle.ts';

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const SOURCES = join(ROOT, 'src/transports/pages/explorer');
const OUTPUT = join(ROOT, 'dist/explorer');
const MANIFEST = join(OUTPUT, 'manifest.json');

/** The path from which the files are served. */
const PUBLIC_PATH = '/explorer';

/** The programs, by their files below src and dist. */
const PROGRAMS = ['petstore', 'main', 'cli/keys', 'store/sqlite/integrity'];

/** What every file of a program begins with: `require` for libraries that are CommonJS, and the folder of all of them. */
const HEAD = `import { createRequire as $createRequire } from 'node:module';
const require = $createRequire(import.meta.url);
const $dist = import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 6);`;

/**
 * Bundles the server and the commands with their libraries, which takes a third off the time of a start and a tenth off
 * its memory: otherwise each loads a thousand modules. Types are not checked.
 *
 * @param root the folder with `src`, in which `dist` is written
 */
export async function bundlePrograms(root = ROOT): Promise<void> {
  const dist = join(root, 'dist');
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: PROGRAMS.map((name) => `src/${name}.ts`),
    outbase: 'src',
    outdir: dist,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    // One copy of each library: some are imported both as CommonJS and as modules.
    mainFields: ['main', 'module'],
    // It loads a native module.
    external: ['libsql'],
    // graphql-js would check each of thousands of objects in a request for a second copy of itself.
    define: { 'process.env.NODE_ENV': '"production"' },
    banner: { js: HEAD },
    plugins: [placesOfModules(join(root, 'src'))],
    // For `node --enable-source-maps`, with which stacks name the sources.
    sourcemap: true,
    sourcesContent: false,
    logLevel: 'warning',
    metafile: true,
  });
  // Parts of earlier builds.
  for (const name of readdirSync(dist))
    if (/\.js(\.map)?$/.test(name) && !(`dist/${name}` in metafile.outputs)) rmSync(join(dist, name));
}

/** Gives each module the URL that it would have if it were not bundled. */
const placesOfModules = (src: string): Plugin => ({
  name: 'places of modules',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const place = relative(src, path).replace(/ts$/, 'js');
      const contents = readFileSync(path, 'utf8').replaceAll('import.meta.url', `($dist + '${place}')`);
      return { contents, loader: 'ts' };
    });
  },
});

/**
 * Bundles the browser code (GraphiQL, the REST docs, the console, the landing page) into files with content hashes in
 * their names. Does nothing if nothing has changed since the last run.
 */
export async function bundle(): Promise<void> {
  const digest = digestOfInputs();
  if (existsSync(MANIFEST) && (JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest).digest === digest)
    return;
  mkdirSync(OUTPUT, { recursive: true });
  rmSync(MANIFEST, { force: true });

  // Files that block rendering are complete in themselves.
  const firstPaint = await emit({ 'first-paint': join(SOURCES, 'first-paint.ts') });
  const plainQuery = await emit({ 'plain-query': join(SOURCES, 'graphiql/plain-query.ts') });
  const workers = await emit({
    editor: 'monaco-editor/esm/vs/editor/editor.worker.js',
    json: 'monaco-editor/esm/vs/language/json/json.worker.js',
    graphql: 'monaco-graphql/esm/graphql.worker.js',
  });
  const pages = await emit(
    {
      graphiql: join(SOURCES, 'graphiql/main.tsx'),
      docs: join(SOURCES, 'docs/main.ts'),
      console: join(SOURCES, 'console/main.ts'),
      landing: join(SOURCES, 'landing/main.ts'),
    },
    {
      WORKERS: JSON.stringify(Object.fromEntries(workers.entries.map(({ name, script }) => [name, script]))),
    },
  );
  const files = [firstPaint, plainQuery, workers, pages].flatMap((emitted) => emitted.files).toSorted();
  await Promise.all(files.map(compress));
  for (const name of readdirSync(OUTPUT))
    if (!files.includes(name.replace(/\.(br|gz)$/, ''))) rmSync(join(OUTPUT, name));
  const manifest: Manifest = {
    digest,
    pages: Object.fromEntries(
      [firstPaint, plainQuery, pages]
        .flatMap(({ entries }) => entries)
        .map(({ name, ...page }) => [name, page]),
    ),
    files,
  };
  writeFileSync(MANIFEST, JSON.stringify(manifest, null, 2));
}

/** Takes six times as long as 9 and saves a twelfth: half a second of a slow connection. */
const BROTLI_QUALITY = 10;

/**
 * Writes a file in every content coding we serve, so that nothing is compressed per request. A file of an earlier run is
 * kept, since a name stands for its content.
 */
async function compress(name: string): Promise<void> {
  const file = join(OUTPUT, name);
  if (existsSync(`${file}.br`) && existsSync(`${file}.gz`)) return;
  const content = readFileSync(file);
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(content, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
      },
    }),
    promisify(gzip)(content, { level: 9 }),
  ]);
  for (const [suffix, bytes] of Object.entries({ br, gz })) {
    // An interrupted run leaves nothing under a name that the next would keep.
    writeFileSync(`${file}.new`, bytes);
    renameSync(`${file}.new`, `${file}.${suffix}`);
  }
}

/** The inputs: the sources, what they share with the server, this file, and the locked version of every library. */
function digestOfInputs(): string {
  const hash = createHash('sha256');
  const sources = readdirSync(SOURCES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const shared = ['pricing.ts', 'words.ts'].map((name) => join(ROOT, 'src/foundation', name));
  for (const file of [
    ...sources,
    ...shared,
    fileURLToPath(import.meta.url),
    join(ROOT, 'package-lock.json'),
  ]) {
    hash.update(`${file.slice(ROOT.length)}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

interface Emitted {
  entries: (PageFiles & { name: string })[];
  /** Names of all files reachable from the entries. */
  files: string[];
}

async function emit(
  entryPoints: Record<string, string>,
  define: Record<string, string> = {},
): Promise<Emitted> {
  const options: BuildOptions = {
    absWorkingDir: ROOT,
    entryPoints,
    outdir: OUTPUT,
    publicPath: PUBLIC_PATH,
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2023',
    jsx: 'automatic',
    legalComments: 'none',
    loader: { '.ttf': 'file' },
    define: { 'process.env.NODE_ENV': '"production"', ...define },
    plugins: [systemFonts, jsonWithoutPrettier, editorForGraphql, scalar],
    logLevel: 'warning',
  };
  const { metafile } = await build({ ...options, metafile: true });
  const { outputs } = metafile;
  const files = reachable(
    outputs,
    Object.keys(entryPoints).map((name) => entryFile(outputs, name)),
  );
  // Styles of dynamic imports are already in the page's style sheet.
  for (const file of Object.keys(outputs)) if (!files.has(file)) rmSync(join(ROOT, file));
  return {
    entries: Object.keys(entryPoints).map((name) => {
      const file = entryFile(outputs, name);
      const style = outputs[file]!.cssBundle;
      const { modules, scripts } = importsOf(outputs, file);
      return {
        name,
        script: publicPathOf(file),
        style: style === undefined ? '' : publicPathOf(style),
        modules: [...modules].map(publicPathOf),
        scripts: [...scripts].map(publicPathOf),
      };
    }),
    files: [...files].map((file) => file.slice(file.lastIndexOf('/') + 1)),
  };
}

type Outputs = Metafile['outputs'];

const publicPathOf = (file: string): string => `${PUBLIC_PATH}${file.slice(file.lastIndexOf('/'))}`;

const entryFile = (outputs: Outputs, name: string): string =>
  Object.keys(outputs).find((file) => new RegExp(`/${name}-\\w+\\.js$`).test(file))!;

/** What a module needs to run: the modules it imports, and the scripts it refers to as files. */
function importsOf(
  outputs: Outputs,
  file: string,
  found = { modules: new Set<string>(), scripts: new Set<string>() },
): { modules: Set<string>; scripts: Set<string> } {
  for (const { path, kind } of outputs[file]!.imports) {
    if (kind === 'file-loader' && path.endsWith('.js')) found.scripts.add(path);
    if (kind !== 'import-statement' || found.modules.has(path)) continue;
    found.modules.add(path);
    importsOf(outputs, path, found);
  }
  return found;
}

/** The files reachable from others. */
function reachable(outputs: Outputs, from: readonly string[]): Set<string> {
  const found = new Set<string>();
  const visit = (file: string): void => {
    const output = outputs[file];
    if (!output || found.has(file)) return;
    found.add(file);
    const isEntry = from.includes(file);
    if (isEntry && output.cssBundle !== undefined) visit(output.cssBundle);
    for (const { path, external } of output.imports) if (!external) visit(path);
  };
  from.forEach(visit);
  return found;
}

/** Removes the two font families that GraphiQL embeds, 340 kB compressed, in favour of system fonts. */
const systemFonts: Plugin = {
  name: 'system fonts',
  setup: ({ onLoad }) => {
    onLoad({ filter: /graphiql[/\\]dist[/\\]style\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(/@font-face\s*\{[^}]*\}/g, ''),
      loader: 'css',
    }));
  },
};

/**
 * Replaces Prettier's JavaScript parser, 140 kB compressed, which GraphiQL uses to format JSON variables,
 * with 5 kB.
 */
const jsonWithoutPrettier: Plugin = {
  name: 'JSON without Prettier',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/utility\/jsonc\.js$|^\.\/jsonc\.js$/ }, ({ importer }) =>
      importer.includes('@graphiql') ? { path: join(SOURCES, 'graphiql/jsonc.ts') } : undefined,
    );
  },
};

/** Parts of Monaco that need a language server or have no use in a page, 90 kB compressed. */
const UNUSED_PARTS = [
  'diffEditor',
  'diffEditorBreadcrumbs',
  'codelens',
  'colorPicker',
  'dropOrPasteInto',
  'inlayHints',
  'inlineCompletions',
  'inlineEdit',
  'inlineEdits',
  'inlineProgress',
  'linkedEditing',
  'rename',
  'sectionHeaders',
  'semanticTokens',
  'stickyScroll',
  'suggestInlineCompletions',
];

/** Monaco with only what GraphQL and JSON need. */
const editorForGraphql: Plugin = {
  name: 'editor for GraphQL',
  setup: ({ onLoad }) => {
    onLoad({ filter: /vs[/\\]editor[/\\]editor\.all\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .split('\n')
        .filter(
          (line) => !UNUSED_PARTS.some((part) => line.includes(`/${part}/`) || line.includes(`/${part}.js`)),
        )
        .join('\n'),
      loader: 'js',
    }));
  },
};

/**
 * What looks for module systems and passes the whole reference to the one it finds, as a function. Called directly instead,
 * it is compiled while it arrives; a function that is passed is compiled when it has arrived.
 */
const MODULE_SYSTEMS = /\(function\(e,t\)\{typeof exports[^;]*?\}\)\(this,function\(e\)\{/;

/**
 * Resolves `scalar` to the URL of the API reference of that name, ready-made for browsers. It comes from the package that
 * serves it on Fastify, by asking that package's route for the script: the reference's own package would
 * install 270 others, 290 MB, which are already in the script.
 */
const scalar: Plugin = {
  name: 'Scalar',
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter: /^scalar$/ }, () => ({ path: 'scalar.js', namespace: 'scalar' }));
    onLoad({ filter: /.*/, namespace: 'scalar' }, async () => {
      const { default: plugin } = await import('@scalar/fastify-api-reference');
      let contents = '';
      const fastify = {
        hasPlugin: () => false,
        route: ({ url, handler }: { url: string; handler: (request: object, reply: object) => void }) => {
          if (!url.endsWith('.js')) return;
          const reply = { header: () => reply, send: (script: string) => (contents = script) };
          handler({}, reply);
        },
      };
      plugin(fastify as never, { configuration: { url: '/' } }, () => {});
      const eager = contents
        .replace(MODULE_SYSTEMS, '(function(e){')
        .replace(/\}\);(\s*\/\/.*\s*)?$/, '})();');
      if (!eager.endsWith('})();') || eager.length > contents.length - 200)
        throw new Error('The reference is not wrapped as before.');
      return { contents: eager, loader: 'file' };
    });
  },
};

if (argv[1] === fileURLToPath(import.meta.url)) await Promise.all([bundlePrograms(), bundle()]);
