import { stringify } from 'lossless-json';

/** Serialises a value to JSON, with bigints as integers. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    // Only a bigint makes JSON.stringify throw, and results rarely contain one.
    if (!(error instanceof TypeError)) throw error;
    return stringify(value)!;
  }
}

/** Characters of a piece of JSON, apart from the last value in it. */
const PIECE_LENGTH = 16_384;

/** An object or list that is being written. */
interface Frame {
  readonly container: Record<string, unknown> | readonly unknown[];
  /** Undefined for a list. */
  readonly names: readonly string[] | undefined;
  next: number;
}

/**
 * Serialises a value as `toJson` does, but in pieces, so that a large answer is never held as text. The same
 * text may occur in it many times without taking more memory.
 */
export function* jsonPieces(value: unknown): Generator<string, void, undefined> {
  const open: Frame[] = [];
  let text = '';
  const write = (item: unknown): void => {
    if (typeof item !== 'object' || item === null) {
      text += toJson(item) ?? 'null';
    } else if (Array.isArray(item)) {
      text += '[';
      open.push({ container: item, names: undefined, next: 0 });
    } else {
      text += '{';
      const names = Object.keys(item).filter((name) => (item as Record<string, unknown>)[name] !== undefined);
      open.push({ container: item as Record<string, unknown>, names, next: 0 });
    }
  };
  write(value);
  for (let frame = open.at(-1); frame; frame = open.at(-1)) {
    const { container, names } = frame;
    const at = frame.next++;
    if (at === (names ?? (container as readonly unknown[])).length) {
      text += names ? '}' : ']';
      open.pop();
    } else {
      if (at > 0) text += ',';
      if (names) text += `${JSON.stringify(names[at]!)}:`;
      write((container as Record<string | number, unknown>)[names ? names[at]! : at]);
    }
    if (text.length < PIECE_LENGTH) continue;
    yield text;
    text = '';
  }
  if (text.length > 0) yield text;
}
