import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import { lookup } from 'mrmime';
import Negotiator from 'negotiator';
import { ROOT } from '../../config.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type Headers, type HttpResponse } from '../../http/response.ts';

/** The folder of the pages built by Vite (vite.config.ts), both from the sources and from the compiled program. */
const FOLDER = fileURLToPath(new URL('dist/pages/', ROOT));

/** The path of scripts and styles. Their names contain a digest, so browsers can cache them forever. */
const HASHED = '/explorer/';

/** The prefixes of the paths of all files. */
export const FILE_ROOTS = [HASHED, '/favicon.svg', '/robots.txt'];

/** The content codings of each file (bundle.ts), the shortest first, with the suffixes of their names. */
const CODINGS = { br: '.br', gzip: '.gz' };
const CODING_NAMES = Object.keys(CODINGS) as (keyof typeof CODINGS)[];

// Listed on the first request for a page: a gateway that serves only programs doesn't need them.
let names: ReadonlySet<string> | undefined;
/**
 * Contents by file name, once requested. They stay in memory, up to 16 MB for all files in all codings, so that any
 * number of stalled downloads hold neither file descriptors nor copies.
 */
const contents = new Map<string, { content: Buffer; etag: string }>();

/** True if a path is that of a served file. */
export function hasFile(path: string): boolean {
  if (!FILE_ROOTS.some((root) => path.startsWith(root)) || /\.(?:br|gz)$/.test(path)) return false;
  names ??= new Set(
    readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).map(
      (name) => `/${name.replaceAll('\\', '/')}`,
    ),
  );
  return names.has(path);
}

/** The response to a GET or HEAD of an existing file. */
export function fileResponse({ path, request }: RequestContext): HttpResponse {
  const accepted = new Negotiator(request).encodings(CODING_NAMES);
  const coding = CODING_NAMES.find((name) => accepted.includes(name));
  const { content, etag } = contentOf(coding === undefined ? path : path + CODINGS[coding]);
  const headers: Headers = [
    'Cache-Control',
    path.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Vary',
    'Accept-Encoding',
  ];
  if (coding !== undefined) headers.push('Content-Encoding', coding);
  return {
    status: 200,
    headers,
    body: content,
    etag,
    // Other origins have no use for files.
    sameOriginOnly: true,
    contentType: lookup(path) ?? 'application/octet-stream',
  };
}

function contentOf(name: string) {
  let read = contents.get(name);
  if (!read) {
    const content = readFileSync(FOLDER + name);
    read = { content, etag: etagOf(content) };
    contents.set(name, read);
  }
  return read;
}

const eta = new Eta({ views: FOLDER, defaultExtension: '.html', cache: true, tags: ['{{', '}}'] });

/** @param data the variable `it` of the template */
export const render = (template: string, data: object): string => eta.render(template, data);

/** A guide as rendered by `guides.ts` at the root of the repository, from a file of `docs`. */
export interface Guide {
  slug: string;
  title: string;
  /** The first sentence, as text. */
  about: string;
  /** The headings of levels 2 and 3, in order, with GitHub's ids and the text that follows each. */
  headings: { level: number; id: string; title: string; text: string }[];
  /** The text before the first heading, for the search. */
  text: string;
  html: string;
}

// Read on the first request for a page: a gateway that serves only programs doesn't need them.
let read: readonly Guide[] | undefined;

/** All guides, in the order of the list. */
export const guides = (): readonly Guide[] =>
  (read ??= JSON.parse(readFileSync(`${FOLDER}../guides.json`, 'utf8')) as Guide[]);
