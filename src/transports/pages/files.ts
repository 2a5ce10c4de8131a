import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { lookup } from 'mrmime';
import Negotiator from 'negotiator';
import parseRange from 'range-parser';
import { ROOT } from '../../config.ts';
import { AppError } from '../../foundation/errors.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { errorResponse, etagOf, type Headers, type HttpResponse, namesTag } from '../../http/response.ts';

/** The folder of the pages built by Vite (vite.config.ts), both from the sources and from the compiled program. */
export const FOLDER = fileURLToPath(new URL('dist/pages/', ROOT));

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

/** The response to a GET or HEAD of an existing file, or to a request for one range of it (RFC 9110 section 14). */
export function fileResponse(context: RequestContext): HttpResponse {
  const { path, request, method, headers: asked } = context;
  const accepted = new Negotiator(request).encodings(CODING_NAMES);
  const coding = CODING_NAMES.find((name) => accepted.includes(name));
  const { content, etag } = contentOf(coding === undefined ? path : path + CODINGS[coding]);
  const headers: Headers = [
    'Accept-Ranges',
    'bytes',
    'Cache-Control',
    path.startsWith(HASHED) ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Vary',
    'Accept-Encoding',
  ];
  if (coding !== undefined) headers.push('Content-Encoding', coding);
  // Other origins have no use for files.
  const whole: HttpResponse = {
    status: 200,
    headers,
    body: content,
    etag,
    sameOriginOnly: true,
    contentType: lookup(path) ?? 'application/octet-stream',
  };
  const { range, 'if-range': ifRange = etag, 'if-none-match': ifNoneMatch = '' } = asked;
  if (method !== 'GET' || range === undefined || ifRange !== etag || namesTag(ifNoneMatch, etag))
    return whole;
  const ranges = parseRange(content.length, range, { combine: true });
  if (ranges === -1) {
    const error = new AppError(
      'RANGE_NOT_SATISFIABLE',
      `The range names no byte of the file, which has ${content.length}.`,
    );
    context.addError(error.code, error.message);
    return { ...errorResponse(error), headers: ['Content-Range', `bytes */${content.length}`] };
  }
  // Malformed ranges and other units are ignored. A request for several parts may get the whole.
  if (ranges === -2 || ranges.type !== 'bytes' || ranges.length > 1) return whole;
  const { start, end } = ranges[0]!;
  headers.push('Content-Range', `bytes ${start}-${end}/${content.length}`);
  return { ...whole, status: 206, body: content.subarray(start, end + 1) };
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
