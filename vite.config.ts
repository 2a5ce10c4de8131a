import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/** The folder with the sources of the pages. */
export const SOURCES = fileURLToPath(new URL('src/transports/pages/explorer', import.meta.url));

/** The folder in which the pages are built: each file's path in it is the path that it is served at. */
export const OUTPUT = fileURLToPath(new URL('dist/pages', import.meta.url));

/** A template each, which the server fills in (src/transports/pages/pages.ts). */
const PAGES = ['graphiql', 'docs', 'console', 'guides', 'landing', 'error'];

/** The browser code: GraphiQL, the REST docs, the console, the guides and the landing page. */
export default defineConfig({
  root: SOURCES,
  // Scripts find each other by their own address, wherever the gateway is mounted.
  base: './',
  // Libraries have directives for frameworks of which a bundler warns.
  logLevel: 'error',
  worker: { format: 'es' },
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    assetsDir: 'explorer',
    assetsInlineLimit: 0,
    target: 'es2023',
    // These browsers have light-dark(): its fallback elsewhere cannot follow a chosen theme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 10_000,
    rollupOptions: {
      input: Object.fromEntries(
        Object.entries({
          'first-paint': 'first-paint.ts',
          ...Object.fromEntries(PAGES.map((name) => [name, `${name}.html`])),
        }).map(([name, file]) => [name, join(SOURCES, file)]),
      ),
    },
  },
  plugins: [layout(), systemFonts(), explorer(), scalar()],
});

/** Puts the head and the body of each page into the layout, and the files that it names by `built:NAME` under their names with a digest. */
function layout(): Plugin[] {
  return [
    {
      name: 'layout',
      transformIndexHtml: {
        order: 'pre',
        handler(page) {
          const [head = '', body = ''] = page.split('<!-- body -->\n');
          return readFileSync(join(SOURCES, 'layout.html'), 'utf8')
            .replace('<!-- head -->\n', () => head)
            .replace('<!-- body -->\n', () => body);
        },
      },
    },
    {
      name: 'names of files',
      transformIndexHtml: {
        order: 'post',
        // Pages are at several depths, so their links begin at the root, to which the server adds where it is mounted.
        handler: (html, { bundle = {} }) =>
          html
            .replaceAll(/(?<=(?:src|href)=")\.\//g, '/')
            .replace(/(?<=")built:([\w.-]+)/g, (_, name: string) => {
              const named = (file: (typeof bundle)[string]) =>
                file.type === 'asset' ? file.names.includes(name) : file.name === name;
              return `/${Object.values(bundle).find(named)!.fileName}`;
            }),
      },
    },
  ];
}

/** Removes the two font families that GraphiQL embeds, 340 kB compressed, in favour of system fonts. */
function systemFonts(): Plugin {
  return {
    name: 'system fonts',
    enforce: 'pre',
    transform: (code, id) =>
      /graphiql[/\\]dist[/\\]style\.css/.test(id)
        ? code.replaceAll(/@font-face\s*\{[^}]*\}/g, '')
        : undefined,
  };
}

/** Makes GraphiQL's explorer show the values of lists, which it takes for a mismatch that it logs and leaves out. */
function explorer(): Plugin {
  const mismatch = "console.error('arg mismatch between arg and selection', argType, argValue);";
  const shown = "input = React.createElement('span', null, (0, _graphql.print)(argValue));";
  return {
    name: 'explorer',
    enforce: 'pre',
    transform(code, id) {
      if (!/graphiql-explorer[/\\]dist[/\\]Explorer\.js/.test(id)) return undefined;
      if (!code.includes(mismatch)) throw new Error(`${id} logs no mismatch as before.`);
      return code.replaceAll(mismatch, shown);
    },
  };
}

/**
 * Adds the API reference Scalar, ready-made for browsers. It is a text in the package that serves it on Fastify: the
 * reference's own package would install 270 others, 290 MB, which are already in the script.
 */
function scalar(): Plugin {
  return {
    name: 'Scalar',
    buildStart() {
      const file = createRequire(import.meta.url).resolve('@scalar/fastify-api-reference');
      const [literal] = /(?<=^var standalone_default = )".*"(?=;$)/m.exec(readFileSync(file, 'utf8')) ?? [];
      if (literal === undefined) throw new Error(`${file} has no script as before.`);
      const source = Function(`return ${literal}`)() as string;
      this.emitFile({ type: 'asset', name: 'scalar.js', source });
    },
  };
}
