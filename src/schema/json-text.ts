import { isLosslessNumber, stringify } from 'lossless-json';

/** Serialises a value to JSON, with bigints as integers. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Only bigints make JSON.stringify throw, and results rarely contain any.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value)!;
  }
}

/** JSON for formats of lines: Python's `splitlines`, and so httpx, takes two more characters for ends of lines. */
export const onOneLine = (json: string): string =>
  json.replace(/[\u2028\u2029]/g, (character) => (character === '\u2028' ? '\\u2028' : '\\u2029'));

/** The length of a piece of JSON before its last value or record, in characters. */
const PIECE_LENGTH = 16_384;

/** False for a list, and for what contains lists or objects. */
function isFlat(item: object): boolean {
  for (const name in item) {
    const part = item[name as never] as unknown;
    if (typeof part === 'object' && part !== null) return false;
  }
  return !Array.isArray(item);
}

/**
 * Serialises a value like `toJson`, but in pieces, so that a large answer is never in memory as text, in which a text
 * that occurs many times would take memory each time.
 */
export function* jsonPieces(value: unknown): Generator<string, void, undefined> {
  let text = '';
  function* write(item: object): Generator<string, void, undefined> {
    const isList = Array.isArray(item);
    let mark = isList ? '[' : '{';
    for (const name of Object.keys(item)) {
      const part = (item as Record<string, unknown>)[name];
      if (part === undefined && !isList) continue;
      text += isList ? mark : `${mark}${JSON.stringify(name)}:`;
      mark = ',';
      if (typeof part !== 'object' || part === null || isFlat(part)) text += toJson(part) ?? 'null';
      else yield* write(part);
      if (text.length < PIECE_LENGTH) continue;
      yield text;
      text = '';
    }
    if (mark !== ',') text += mark;
    text += isList ? ']' : '}';
  }
  if (typeof value === 'object' && value !== null) yield* write(value);
  else text = toJson(value);
  if (text.length > 0) yield text;
}

/** True if a parsed value is a JSON object. A number that doubles can't hold is an object of another kind. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
