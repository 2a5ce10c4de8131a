/** Bodies longer than this are sent in chunks. Counts characters (up to 4 bytes each) or bytes. */
export const CHUNK_SIZE = 65_536;

/** Splits a long body into chunks. Text is encoded only as it is sent, so it is not held twice. */
export function* chunksOf<Body extends string | Buffer>(body: Body): Generator<Body> {
  for (let at = 0, end = 0; at < body.length; at = end) {
    end = at + CHUNK_SIZE;
    if (typeof body === 'string') {
      // Do not split a surrogate pair.
      if (isHighSurrogate(body.charCodeAt(end - 1))) end++;
      yield body.slice(at, end) as Body;
    } else {
      yield body.subarray(at, end) as Body;
    }
  }
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
