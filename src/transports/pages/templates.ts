import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import sirv from 'sirv';
import { ROOT } from '../../config.ts';

/** Where Vite has built the pages (vite.config.ts); the same folder from the sources and from the compiled program. */
const FOLDER = fileURLToPath(new URL('dist/pages/', ROOT));

/** Where the scripts and styles are. Their names contain a digest, so browsers can cache them for ever. */
const HASHED = '/explorer/';

/** The first parts of the paths of all files. */
export const FILE_ROOTS = [HASHED, '/favicon.svg', '/robots.txt'];

const eta = new Eta({ views: FOLDER, defaultExtension: '.html', cache: true, tags: ['{{', '}}'] });

/** @param data what the template calls `it` */
export const render = (template: string, data: object): string => eta.render(template, data);

/** A guide as rendered by `guides.ts` at the root of the repository, from a file of `docs`. */
export interface Guide {
  slug: string;
  title: string;
  /** Its first sentence as text. */
  about: string;
  /** Of levels 2 and 3, in order, with the ids that GitHub gives them. */
  headings: { level: number; id: string; title: string; text: string }[];
  /** The text before its first heading, as the text of a heading is what follows it: for the search. */
  text: string;
  html: string;
}

// Read on the first request for a page, because a gateway that serves only programs does not need them.
let read: { guides: readonly Guide[]; files: ReadonlySet<string>; serve: ReturnType<typeof sirv> };
const built = () => {
  read ??= {
    guides: JSON.parse(readFileSync(`${FOLDER}../guides.json`, 'utf8')),
    files: new Set(
      readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map(
        (name) => `/${name.replaceAll('\\', '/')}`,
      ),
    ),
    serve: sirv(FOLDER, {
      brotli: true,
      gzip: true,
      etag: true,
      setHeaders: (response, path) =>
        response.setHeader(
          'Cache-Control',
          path.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache',
        ),
    }),
  };
  return read;
};

/** All guides, in the order in which they are listed. */
export const guides = (): readonly Guide[] => built().guides;

/** Whether there is a file at a path that may be served. */
export const hasFile = (path: string): boolean =>
  FILE_ROOTS.some((root) => path.startsWith(root)) && !/\.(?:br|gz)$/.test(path) && built().files.has(path);

/** Serves a GET or HEAD of an existing file. */
export const serveFile: ReturnType<typeof sirv> = (request, response) => built().serve(request, response);
