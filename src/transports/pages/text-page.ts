import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { RequestContext } from '../../http/request-context.ts';
import type { Headers, HttpResponse } from '../../http/response.ts';

/** The headers of what anyone may see. */
const PUBLIC: Headers = ['Cache-Control', 'no-cache', 'Vary', 'Accept-Encoding'];

/** A text that is the same for everyone: made on the first request, compressed once, and identified by a digest. */
export class TextPage {
  readonly #contentType: string;
  readonly #content: () => string;
  readonly #headers: Headers;
  #made: Promise<{ plain: string; compressed: Buffer; etag: string }> | undefined;

  /** @param headers by default those of what anyone may see and cache, if it asks each time whether it changed */
  constructor(contentType: string, content: () => string, headers = PUBLIC) {
    this.#contentType = contentType;
    this.#content = content;
    this.#headers = headers;
  }

  /** Responds to a GET or HEAD. */
  async handle({ headers }: RequestContext): Promise<HttpResponse> {
    this.#made ??= this.#make().catch((error: unknown) => {
      // A file may be readable by the next request.
      this.#made = undefined;
      throw error;
    });
    const { plain, compressed, etag } = await this.#made;
    // Not if it is given no weight (RFC 9110 section 12.5.3).
    const isCompressed = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/i.test(
      String(headers['accept-encoding'] ?? ''),
    );
    return {
      status: 200,
      headers: isCompressed ? [...this.#headers, 'Content-Encoding', 'gzip'] : [...this.#headers],
      contentType: this.#contentType,
      etag,
      body: isCompressed ? compressed : plain,
    };
  }

  async #make() {
    const plain = this.#content();
    // Weak, because the compressed and plain representations share it (RFC 9110 section 8.8.1).
    const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 16)}"`;
    return { plain, compressed: await promisify(gzip)(plain), etag };
  }
}
