import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type Headers, type HttpResponse } from '../../http/response.ts';

interface Options {
  contentType: string;
  /** Made on the first request for each key. */
  text: (key: string) => string;
  /** The value that the text depends on; by default, none. Callers choose it, so the latest few texts are kept. */
  keyOf?: (context: RequestContext) => string;
  /** By default the headers of a text that anyone may see and cache, with revalidation each time. */
  headers?: Headers;
}

/** Serves a text that is the same for everyone, compressed once, and identified by a digest, to GET and HEAD. */
export function textPage({
  contentType,
  text,
  keyOf = () => '',
  headers = ['Cache-Control', 'no-cache', 'Vary', 'Accept-Encoding'],
}: Options): (context: RequestContext) => Promise<HttpResponse> {
  const made = new LRUCache<string, { plain: string; compressed: Promise<Buffer>; etag: string }>({ max: 4 });
  return async (context) => {
    const key = keyOf(context);
    let page = made.get(key);
    if (!page) {
      const plain = text(key);
      // Weak, because the compressed and plain representations share it (RFC 9110 section 8.8.1).
      page = { plain, compressed: promisify(gzip)(plain), etag: `W/${etagOf(plain)}` };
      made.set(key, page);
    }
    const isCompressed = new Negotiator(context.request).encoding(['gzip', 'identity']) === 'gzip';
    return {
      status: 200,
      headers: isCompressed ? [...headers, 'Content-Encoding', 'gzip'] : [...headers],
      contentType,
      etag: page.etag,
      body: isCompressed ? await page.compressed : page.plain,
    };
  };
}
