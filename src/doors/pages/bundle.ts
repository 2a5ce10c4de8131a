import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Exchange, Headers } from '../../http/exchange.ts';
import type { HttpResponse } from '../../http/response.ts';
import { acceptsCoding } from './asset.ts';

/** What the bundler made for browsers: `bundle.ts` at the root of the repository writes it. */
export interface Manifest {
  /** Of all that it was made from. */
  digest: string;
  /** Paths that a page loads, by the name of the page. */
  pages: Record<string, { script: string; style: string }>;
  /** Names of all files. */
  files: string[];
}

/** The same from the sources and from the compiled program: both stand three folders deep. */
const FOLDER = new URL('../../../dist/explorer/', import.meta.url);

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  ttf: 'font/ttf',
};

/** How long the content of a file is kept for others who ask for it, in milliseconds. */
const CONTENT_TTL = 10_000;

/** Content codings that the bundler has made, the smallest first, and how their files end. */
const CODINGS = [
  { coding: 'br', suffix: '.br' },
  { coding: 'gzip', suffix: '.gz' },
] as const;

/**
 * The scripts and styles of the pages. Their names change with their content, so that browsers keep them for good; they stay
 * on the disk, whose cache is the system's.
 */
export class Bundle {
  #manifest: Manifest | undefined;
  /** What is being sent, or was a moment ago: one copy for all who take the same file at a time. */
  readonly #contents = new Map<string, Promise<Buffer>>();

  /** Paths of the script and the style sheet of a page. */
  page(name: string): { script: string; style: string } {
    const page = this.#read().pages[name];
    if (!page) throw new Error(`The bundle has no page ${name}: run npm run build.`);
    return page;
  }

  /** Whether there is a file at a path. */
  has(path: string): boolean {
    return path.startsWith(BUNDLE_PATH) && this.#read().files.includes(path.slice(BUNDLE_PATH.length));
  }

  /** Answers a GET or HEAD of a file that is there. */
  async handle(exchange: Exchange): Promise<HttpResponse> {
    const name = exchange.path.slice(BUNDLE_PATH.length);
    const accepted = exchange.header('accept-encoding');
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

  /** Read when a page is first asked for: a gateway that serves programs only needs none of it. */
  #read(): Manifest {
    this.#manifest ??= JSON.parse(readFileSync(new URL('manifest.json', FOLDER), 'utf8')) as Manifest;
    return this.#manifest;
  }
}

export const BUNDLE_PATH = '/explorer/';
