/** Bodies that are longer go out piece by piece, in characters or bytes. */
export const CHUNK_SIZE = 65_536;

/** A long body in pieces: text is encoded only as it is sent, so that it isn't kept twice. */
export function* chunksOf<Body extends string | Buffer>(body: Body): Generator<Body> {
  for (let at = 0, end = 0; at < body.length; at = end) {
    end = at + CHUNK_SIZE;
    if (typeof body === 'string') {
      // Not between the two halves of a character.
      if (isHighSurrogate(body.charCodeAt(end - 1))) end++;
      yield body.slice(at, end) as Body;
    } else {
      yield body.subarray(at, end) as Body;
    }
  }
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code < 0xdc00;
