import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { isUnmodified } from '../../http/etag.ts';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';

const compress = promisify(gzip);
const expand = promisify(gunzip);

/** How long rarely needed content is cached, in milliseconds. */
const PLAIN_TTL = 60_000;

/** The headers of an asset that anyone may see. */
export const PUBLIC: Headers = ['Cache-Control', 'no-cache', 'Vary', 'Accept-Encoding'];

export interface AssetOptions {
  contentType: string;
  /** Called on the first request. */
  content: () => string | Buffer | Promise<string | Buffer>;
  /** By default `PUBLIC`. */
  headers?: Headers;
}

/** Content that is the same for everyone: created once, compressed once, and identified by a digest. */
export class Asset {
  readonly #options: AssetOptions;
  #ready: Promise<Prepared> | undefined;
  #plain: Promise<Buffer> | undefined;

  constructor(options: AssetOptions) {
    this.#options = options;
  }

  /** Responds to a GET or HEAD. */
  async handle(context: RequestContext): Promise<HttpResponse> {
    const { etag, compressed } = await this.#prepared();
    const { contentType, headers = PUBLIC } = this.#options;
    const all: Headers = [...headers];
    const response = { status: 200, headers: all, contentType, etag };
    if (isUnmodified(context, response)) return response;
    if (!acceptsCoding(context.headers['accept-encoding'], 'gzip'))
      return { ...response, body: await this.#expanded(compressed) };
    all.push('Content-Encoding', 'gzip');
    return { ...response, body: compressed };
  }

  #prepared(): Promise<Prepared> {
    this.#ready ??= prepare(this.#options).catch((error) => {
      // A file that cannot be opened now may be later.
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  /**
   * Shares one uncompressed copy between clients that do not accept compression, since assets can be
   * megabytes.
   */
  #expanded(compressed: Buffer): Promise<Buffer> {
    if (this.#plain) return this.#plain;
    setTimeout(() => {
      this.#plain = undefined;
    }, PLAIN_TTL).unref();
    this.#plain = expand(compressed);
    return this.#plain;
  }
}

interface Prepared {
  /** Weak, because the compressed and plain representations share it (RFC 9110 section 8.8.1). */
  etag: string;
  /** The only permanent copy; nearly every client accepts it. */
  compressed: Buffer;
}

async function prepare({ content }: AssetOptions): Promise<Prepared> {
  const made = await content();
  return { etag: `W/"${digestOf(made)}"`, compressed: await compress(made) };
}

/** Enough of SHA-256 to distinguish contents. */
const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('base64url').slice(0, 16);

/** Whether an Accept-Encoding header allows a content coding (RFC 9110 section 12.5.3). */
export function acceptsCoding(header: string | undefined, wanted: string): boolean {
  for (const part of header?.toLowerCase().split(',') ?? []) {
    const [coding, ...parameters] = part.split(';').map((text) => text.trim());
    if (coding === wanted) return !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  }
  return false;
}
