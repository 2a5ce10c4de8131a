import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import type { RequestContext } from '../../http/request-context.ts';
import { etagOf, type Headers, type HttpResponse } from '../../http/response.ts';

interface Options {
  contentType: string;
  /** Creates the text, on the first request for each key. */
  text: (key: string) => string;
  /** The value that the text depends on; none by default. Callers choose it, so only the latest few texts are kept. */
  keyOf?: (context: RequestContext) => string;
  /** Defaults to headers for a public text that caches must revalidate each time. */
  headers?: Headers;
}

/** A plain or compressed text. Each has its own tag, so that both are strong (RFC 9110 section 8.8.3.3). */
interface Representation {
  body: string | Buffer;
  etag: string;
}

const representationOf = (body: string | Buffer): Representation => ({ body, etag: etagOf(body) });

/** Serves a text that is the same for everyone to GET and HEAD, compressed only once. */
export function textPage({
  contentType,
  text,
  keyOf = () => '',
  headers = ['Cache-Control', 'no-cache', 'Vary', 'Accept-Encoding'],
}: Options): (context: RequestContext) => Promise<HttpResponse> {
  const made = new LRUCache<string, { plain: Representation; compressed: Promise<Representation> }>({
    max: 4,
  });
  return async (context) => {
    const key = keyOf(context);
    let page = made.get(key);
    if (!page) {
      const plain = text(key);
      page = { plain: representationOf(plain), compressed: promisify(gzip)(plain).then(representationOf) };
      made.set(key, page);
    }
    const isCompressed = new Negotiator(context.request).encoding(['gzip', 'identity']) === 'gzip';
    return {
      status: 200,
      headers: isCompressed ? [...headers, 'Content-Encoding', 'gzip'] : [...headers],
      contentType,
      ...(isCompressed ? await page.compressed : page.plain),
    };
  };
}
