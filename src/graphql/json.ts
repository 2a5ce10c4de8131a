import { stringify } from 'lossless-json';

/** A value as JSON text, its bigints as integers. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // The only thing in answers that JSON.stringify refuses is a bigint, which hardly any has.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value)!;
  }
}

/** Characters of a piece of JSON, so that neither the pieces nor their number cost much. */
const PIECE = 32_768;

/** A value of JSON as text, a piece at a time: the whole of a large answer is never held twice. */
export function* jsonPieces(value: unknown): Generator<string, void, undefined> {
  let text = '';
  for (const part of jsonParts(value)) {
    text += part;
    if (text.length >= PIECE) {
      yield text;
      text = '';
    }
  }
  if (text !== '') yield text;
}

function* jsonParts(value: unknown): Generator<string, void, undefined> {
  if (Array.isArray(value)) {
    let separator = '[';
    for (const item of value) {
      yield separator;
      yield* jsonParts(item ?? null);
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
  } else if (isBranch(value)) {
    let separator = '{';
    for (const [key, part] of Object.entries(value)) {
      if (part === undefined) continue;
      yield `${separator}${JSON.stringify(key)}:`;
      yield* jsonParts(part);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
  } else {
    yield toJson(value);
  }
}

/** Whether a value is an object with others in it; a row of texts and numbers is written at once. */
function isBranch(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (typeof part === 'object' && part !== null) return true;
  }
  return false;
}
