import { toJson } from './json-text.ts';

/** The size of the buffer, in bytes. */
const SIZE = 65_536;
/** The maximum length of a text that is copied byte by byte. */
const MAX_COPIED = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The JSON of the value being written, one at a time. Nearly all of it is plain ASCII, buffered as bytes: concatenating
 * strings takes two to three times as long and ten times the memory.
 */
const output = {
  bytes: Buffer.allocUnsafeSlow(SIZE),
  length: 0,
  text: '',
  /** Reserves bytes. @returns the position of the first */
  room(count: number): number {
    if (this.length + count > SIZE) this.flush();
    return this.length;
  },
  flush(): void {
    this.text += this.bytes.toString('latin1', 0, this.length);
    this.length = 0;
  },
  append(json: string): void {
    this.flush();
    this.text += json;
  },
};

/** Writes a value as JSON. `outer` is the object that contains it. */
export type WriteJson = (value: never, outer: object) => void;

export function jsonOf(write: WriteJson, value: object): string {
  output.length = 0;
  output.text = '';
  write(value as never, value);
  output.flush();
  const { text } = output;
  output.text = '';
  return text;
}

/** Writes ASCII without quotes, such as digits. */
export function writeBare(ascii: string): void {
  const { bytes } = output;
  let at = output.room(ascii.length);
  for (let i = 0; i < ascii.length; i++) bytes[at++] = ascii.charCodeAt(i);
  output.length = at;
}

/** Writes an integer, from its digits or a number. */
export const writeInteger = (value: string | number | bigint): void => writeBare(String(value));

/** Writes an integer in quotes. */
export const writeQuotedInteger = (value: string | number | bigint): void => writeString(String(value));

/** Writes a text in quotes, with escapes. */
export function writeString(text: string): void {
  if (!writePlain(text)) output.append(JSON.stringify(text));
}

/** @returns false, without writing, if the text is long, needs escapes or isn't ASCII */
function writePlain(text: string): boolean {
  const { length } = text;
  if (length > MAX_COPIED) return false;
  const { bytes } = output;
  let at = output.room(length + 2);
  bytes[at++] = QUOTE;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === QUOTE || code === BACKSLASH || code > 0x7e) return false;
    bytes[at++] = code;
  }
  bytes[at++] = QUOTE;
  output.length = at;
  return true;
}

/** Writes any value. */
export function writeAny(value: unknown): void {
  if (typeof value === 'string') writeString(value);
  else if (value === null) writeBare('null');
  else if (typeof value === 'boolean' || Number.isSafeInteger(value)) writeBare(String(value));
  else output.append(toJson(value) ?? 'null');
}

/** Creates a writer of lists, or null. */
export const listOf =
  (write: WriteJson): WriteJson =>
  (list: readonly never[] | null) => {
    if (list === null) return writeBare('null');
    writeBare('[');
    for (let i = 0; i < list.length; i++) {
      if (i > 0) writeBare(',');
      write(list[i]!, list);
    }
    writeBare(']');
  };

/** A property of written objects. */
export interface Property {
  name: string;
  write: WriteJson;
  /** True to leave it out if it is null or undefined. */
  optional?: boolean;
}

/** Creates a writer of objects, or null. Generates code, since reading properties by name in a loop is slow. */
export function objectOf(properties: readonly Property[]): WriteJson {
  const write = ({ name, optional }: Property, n: number): string => {
    const key = Buffer.from(`${JSON.stringify(name)}:`);
    const bytes = Array.from(key, (byte, i) => `bytes[at + ${i + 1}] = ${byte};`).join(' ');
    const value = `value[${JSON.stringify(name)}]`;
    return `${optional ? `if (${value} != null) ` : ''}{
      const at = output.room(${key.length + 1});
      bytes[at] = mark; ${bytes}
      output.length = at + ${key.length + 1};
      mark = COMMA;
      write${n}(${value}, value);
    }`;
  };
  const generated = new Function(
    'output',
    'writeBare',
    ...properties.map((_, n) => `write${n}`),
    `const { bytes } = output;
    const [BRACE, COMMA] = [${'{'.charCodeAt(0)}, ${','.charCodeAt(0)}];
    return (value) => {
      if (value === null) return writeBare('null');
      let mark = BRACE;
      ${properties.map(write).join('\n')}
      writeBare(mark === BRACE ? '{}' : '}');
    };`,
  );
  return generated(output, writeBare, ...properties.map(({ write }) => write));
}
