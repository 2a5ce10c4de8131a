import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';
import { acceptsCoding } from './asset.ts';

/** What a page loads, as paths. */
export interface PageFiles {
  script: string;
  style: string;
  /** The modules that the script imports, directly or not. */
  modules: string[];
  /** Scripts of others that it runs. */
  scripts: string[];
}

/** The bundler's output for browsers, written by `bundle.ts` at the root of the repository. */
export interface Manifest {
  /** Digest of all inputs. */
  digest: string;
  /** The paths a page loads, by page name. */
  pages: Record<string, PageFiles>;
  /** All file names. */
  files: string[];
}

/** Resolves to the same folder from the sources and from the compiled program. */
const FOLDER = new URL('../../../dist/explorer/', import.meta.url);

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ttf: 'font/ttf',
};

/** How long the content of a file is cached, in milliseconds. */
const CONTENT_TTL = 10_000;

/** Content codings that the bundler has produced, smallest first, with their file suffixes. */
const CODINGS = [
  { coding: 'br', suffix: '.br' },
  { coding: 'gzip', suffix: '.gz' },
] as const;

/**
 * The scripts and styles of the pages. Their names contain a digest, so browsers can cache them forever.
 * Files are read from disk and left to the cache of the operating system.
 */
export class Bundle {
  #manifest: Manifest | undefined;
  /** Files being sent or sent recently, so that concurrent requests share one copy. */
  readonly #contents = new Map<string, Promise<Buffer>>();

  /** The paths of a page's scripts and style sheet. */
  page(name: string): PageFiles {
    return this.#read().pages[name]!;
  }

  /** Whether there is a file at a path. */
  has(path: string): boolean {
    return path.startsWith(BUNDLE_PATH) && this.#read().files.includes(path.slice(BUNDLE_PATH.length));
  }

  /** Responds to a GET or HEAD of an existing file. */
  async handle(context: RequestContext): Promise<HttpResponse> {
    const name = context.path.slice(BUNDLE_PATH.length);
    const accepted = context.headers['accept-encoding'];
    const encoded = CODINGS.find(({ coding }) => acceptsCoding(accepted, coding));
    const headers: Headers = [
      'Cache-Control',
      'public, max-age=31536000, immutable',
      'Vary',
      'Accept-Encoding',
    ];
    if (encoded) headers.push('Content-Encoding', encoded.coding);
    return {
      status: 200,
      headers,
      body: await this.#content(`${name}${encoded?.suffix ?? ''}`),
      contentType: TYPES[name.slice(name.lastIndexOf('.') + 1)]!,
    };
  }

  #content(file: string): Promise<Buffer> {
    let content = this.#contents.get(file);
    if (!content) {
      const forget = () => this.#contents.delete(file);
      content = readFile(new URL(file, FOLDER)).catch((error) => {
        forget();
        throw error;
      });
      this.#contents.set(file, content);
      setTimeout(forget, CONTENT_TTL).unref();
    }
    return content;
  }

  /** Read on the first request for a page, because a gateway that serves only programs does not need it. */
  #read(): Manifest {
    this.#manifest ??= JSON.parse(readFileSync(new URL('manifest.json', FOLDER), 'utf8')) as Manifest;
    return this.#manifest;
  }
}

export const BUNDLE_PATH = '/explorer/';
