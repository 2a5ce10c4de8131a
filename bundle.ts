import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import type { Manifest } from './src/doors/pages/bundle.ts';

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const SOURCES = join(ROOT, 'src/doors/pages/explorer');
const OUTPUT = join(ROOT, 'dist/explorer');
const MANIFEST = join(OUTPUT, 'manifest.json');

/** Where the files are served. */
const PUBLIC_PATH = '/explorer';

/**
 * Bundles what runs in browsers (GraphiQL, the REST docs, the first page) into files whose names change with their content.
 * Does nothing where nothing changed since the last time.
 */
export async function bundle(): Promise<void> {
  const digest = digestOfInputs();
  if (existsSync(MANIFEST) && (JSON.parse(readFileSync(MANIFEST, 'utf8')) as Manifest).digest === digest)
    return;
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });

  const workers = await emit({
    editor: 'monaco-editor/esm/vs/editor/editor.worker.js',
    json: 'monaco-editor/esm/vs/language/json/json.worker.js',
    graphql: 'monaco-graphql/esm/graphql.worker.js',
  });
  const pages = await emit(
    {
      graphiql: join(SOURCES, 'graphiql/main.tsx'),
      docs: join(SOURCES, 'docs/main.ts'),
      landing: join(SOURCES, 'landing/main.ts'),
    },
    {
      WORKERS: JSON.stringify(Object.fromEntries(workers.entries.map(({ name, script }) => [name, script]))),
    },
  );
  const files = [...workers.files, ...pages.files].toSorted();
  await Promise.all(files.map(compress));
  const manifest: Manifest = {
    digest,
    pages: Object.fromEntries(pages.entries.map(({ name, script, style }) => [name, { script, style }])),
    files,
  };
  writeFileSync(MANIFEST, JSON.stringify(manifest, null, 2));
}

/** Beyond this, Brotli takes six times as long for a fourteenth less. */
const BROTLI_QUALITY = 9;

/** Writes a file in the codings that browsers take, once for all that will ask for it. */
async function compress(name: string): Promise<void> {
  const file = join(OUTPUT, name);
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
  writeFileSync(`${file}.br`, br);
  writeFileSync(`${file}.gz`, gz);
}

/** The sources, this file, and every library in the version that is locked. */
function digestOfInputs(): string {
  const hash = createHash('sha256');
  const sources = readdirSync(SOURCES, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  for (const file of [...sources, fileURLToPath(import.meta.url), join(ROOT, 'package-lock.json')]) {
    hash.update(`${file.slice(ROOT.length)}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

interface Emitted {
  entries: { name: string; script: string; style: string }[];
  /** File names of all that the entries lead to. */
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
    plugins: [systemFonts, jsonWithoutPrettier, editorForGraphql],
    logLevel: 'warning',
  };
  const { metafile } = await build({ ...options, metafile: true });
  const { outputs } = metafile;
  const files = reachable(
    outputs,
    Object.keys(entryPoints).map((name) => entryFile(outputs, name)),
  );
  // What dynamic imports have for styles is in the style sheet of the page already.
  for (const file of Object.keys(outputs)) if (!files.has(file)) rmSync(join(ROOT, file));
  return {
    entries: Object.keys(entryPoints).map((name) => {
      const file = entryFile(outputs, name);
      const style = outputs[file]!.cssBundle;
      return { name, script: publicPathOf(file), style: style === undefined ? '' : publicPathOf(style) };
    }),
    files: [...files].map((file) => file.slice(file.lastIndexOf('/') + 1)),
  };
}

type Outputs = Metafile['outputs'];

const publicPathOf = (file: string): string => `${PUBLIC_PATH}${file.slice(file.lastIndexOf('/'))}`;

const entryFile = (outputs: Outputs, name: string): string =>
  Object.keys(outputs).find((file) => new RegExp(`/${name}-\\w+\\.js$`).test(file))!;

/** The files that others lead to. */
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

/** GraphiQL brings two families of fonts as data, 340 kB compressed; the system has fonts of its own. */
const systemFonts: Plugin = {
  name: 'system fonts',
  setup: ({ onLoad }) => {
    onLoad({ filter: /graphiql[/\\]dist[/\\]style\.css$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll(/@font-face\s*\{[^}]*\}/g, ''),
      loader: 'css',
    }));
  },
};

/** GraphiQL formats the JSON of variables with Prettier's parser of JavaScript, 140 kB compressed, where 5 kB do. */
const jsonWithoutPrettier: Plugin = {
  name: 'JSON without Prettier',
  setup: ({ onResolve }) => {
    onResolve({ filter: /\/utility\/jsonc\.js$|^\.\/jsonc\.js$/ }, ({ importer }) =>
      importer.includes('@graphiql') ? { path: join(SOURCES, 'graphiql/jsonc.ts') } : undefined,
    );
  },
};

/** Parts of Monaco that need a language server or have nothing to do in a page, 90 kB compressed. */
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

/** Monaco without what GraphQL and JSON make no use of. */
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

if (argv[1] === fileURLToPath(import.meta.url)) await bundle();
