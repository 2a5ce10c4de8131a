import { toJson } from './json-text.ts';

/** Bytes buffered before they become text. */
const SIZE = 65_536;
/** Longer texts are not copied byte by byte. */
const MAX_COPIED = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * The JSON of the value being written, one at a time. Nearly all of it is plain ASCII and buffered as bytes:
 * concatenation takes two to three times as long, and ten times the memory.
 */
const output = {
  bytes: Buffer.allocUnsafeSlow(SIZE),
  length: 0,
  text: '',
  /** Makes room for some bytes. @returns where they begin */
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

/** Writes a value of one form as JSON. `outer` is the object that has it. */
export type WriteJson = (value: never, outer: object) => void;

/** @returns the JSON of a value */
export function jsonOf(write: WriteJson, value: object): string {
  output.length = 0;
  output.text = '';
  write(value as never, value);
  output.flush();
  const { text } = output;
  output.text = '';
  return text;
}

/** Writes ASCII as it is, such as digits. */
export function writeBare(ascii: string): void {
  const { bytes } = output;
  let at = output.room(ascii.length);
  for (let i = 0; i < ascii.length; i++) bytes[at++] = ascii.charCodeAt(i);
  output.length = at;
}

/** Writes an integer, given by its digits or as a number. */
export const writeInteger = (value: string | number | bigint): void => writeBare(String(value));

/** Writes an integer in quotes. */
export const writeQuotedInteger = (value: string | number | bigint): void => writeString(String(value));

/** Writes text in quotes. */
export function writeString(text: string): void {
  if (!writePlain(text)) output.append(JSON.stringify(text));
}

/** @returns false, without writing anything, if it is long or has characters that need escapes or are beyond ASCII */
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

/** Writes a value of any form. */
export function writeAny(value: unknown): void {
  if (typeof value === 'string') writeString(value);
  else if (value === null) writeBare('null');
  else if (typeof value === 'boolean' || Number.isSafeInteger(value)) writeBare(String(value));
  else output.append(toJson(value) ?? 'null');
}

/** Writes lists, or null. */
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

/** A property of the objects that are written. */
export interface Property {
  name: string;
  write: WriteJson;
  /** True if it is left out where it is null or undefined. */
  optional?: boolean;
}

/** Writes objects with these properties, or null. Generates code, since properties by name are slow to read in a loop. */
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
