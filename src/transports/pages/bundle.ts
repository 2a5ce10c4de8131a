import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import sirv from 'sirv';
import type { HttpResponse } from '../../http/response.ts';
import { ICON_PATH } from './paths.ts';

/** What a page loads, as paths. */
export interface PageFiles {
  script: string;
  /** The modules that the script imports, directly or not. */
  modules: string[];
  styles: string[];
  /** Files of others that it names: scripts. */
  assets: string[];
}

/** An entry of Vite's manifest. */
interface Chunk {
  file: string;
  name?: string;
  isEntry?: boolean;
  imports?: string[];
  css?: string[];
  assets?: string[];
}

/** Where the scripts and styles are. Their names contain a digest, so browsers can cache them for ever. */
export const BUNDLE_PATH = '/explorer/';

/** Resolves to the same folder from the sources and from the compiled program. */
const FOLDER = fileURLToPath(new URL('../../../dist/pages/', import.meta.url));

/** The files of the pages as Vite has built them (vite.config.ts), served by sirv. */
export class Bundle {
  #read:
    | { manifest: Record<string, Chunk>; files: ReadonlySet<string>; serve: ReturnType<typeof sirv> }
    | undefined;

  /** The paths of a page's scripts and style sheets. @param name of the page in vite.config.ts */
  page(name: string): PageFiles {
    const { manifest } = this.#built();
    const entry = Object.values(manifest).find((chunk) => chunk.isEntry && chunk.name === name)!;
    const chunks = new Set<Chunk>();
    const visit = (chunk: Chunk) => {
      // Those that others rest on come first, as the cascade needs.
      for (const key of chunk.imports ?? []) if (!chunks.has(manifest[key]!)) visit(manifest[key]!);
      chunks.add(chunk);
    };
    visit(entry);
    const modules = [...chunks].filter((chunk) => chunk !== entry).map(({ file }) => file);
    const all = (of: 'css' | 'assets') => [...new Set([...chunks].flatMap((chunk) => chunk[of] ?? []))];
    const path = (file: string) => `/${file}`;
    return {
      script: path(entry.file),
      modules: modules.map(path),
      styles: all('css').map(path),
      assets: all('assets').map(path),
    };
  }

  /** The first parts of the paths of all files. */
  readonly roots: readonly string[] = [BUNDLE_PATH, ICON_PATH, '/robots.txt'];

  /** Whether there is a file at a path. */
  has(path: string): boolean {
    return this.roots.some((root) => path.startsWith(root)) && this.#built().files.has(path);
  }

  /** Responds to a GET or HEAD of an existing file. */
  handle(): HttpResponse {
    const { serve } = this.#built();
    return { status: 200, headers: [], pass: (request, response) => serve(request, response) };
  }

  /** Read on the first request for a page, because a gateway that serves only programs does not need it. */
  #built() {
    this.#read ??= {
      manifest: JSON.parse(readFileSync(`${FOLDER}.vite/manifest.json`, 'utf8')) as Record<string, Chunk>,
      files: new Set(
        readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
          .filter((name) => !/^\.vite|\.(?:br|gz)$/.test(name))
          .map((name) => `/${name.replaceAll('\\', '/')}`),
      ),
      serve: sirv(FOLDER, {
        brotli: true,
        gzip: true,
        etag: true,
        setHeaders: (response, path) => {
          const isHashed = path.startsWith(BUNDLE_PATH);
          response.setHeader('Cache-Control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache');
        },
      }),
    };
    return this.#read;
  }
}
