import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileFault } from '../foundation/errors.ts';

/** The number of bytes to read at once: few, so that most rows are used before garbage collection would copy them. */
const CHUNK_SIZE = 16_384;
/** The maximum size of a row, in bytes: a longer one has an unclosed quote or bracket. */
export const MAX_ROW_SIZE = 1_048_576;
/** The number of bytes to detect the form of a file from, and in which a header must end. */
const HEAD_SIZE = 65_536;

/** The format of a file. */
export interface FileFormat {
  /** CSV, or JSON: a value per line, an array of values, or values across lines. */
  kind: 'csv' | 'lines' | 'array' | 'values';
  /** The delimiter of CSV columns. */
  delimiter: string;
  /** The number of bytes before the content: a byte order mark, or a line that only declares the delimiter. */
  offset: number;
  /** The line on which the content begins, from 1. */
  line: number;
}

/** A file of rows that can be read twice. */
export interface Source {
  name: string;
  format: FileFormat;
  /** The SHA-256 of the content. */
  digest: string;
  /** Reads the content from the beginning. */
  read(): AsyncGenerator<Buffer>;
  close(): Promise<void>;
}

/**
 * Opens a file to load. Input that can be read only once (standard input, a pipe) is copied to an unlinked temporary
 * file.
 *
 * @param name the path, or `-` for standard input
 * @throws Error if the file can't be read, or obviously isn't UTF-8 text
 */
export async function openSource(name: string): Promise<Source> {
  let file: FileHandle | undefined;
  try {
    const info = name === '-' ? undefined : await stat(name);
    if (info?.isDirectory()) throw new Error('it is a directory');
    if (info?.isCharacterDevice() || info?.isBlockDevice()) throw new Error('it is a device');
    const isFile = info?.isFile() ?? false;
    file = isFile
      ? await open(name, 'r')
      : await spooled(name, name === '-' ? process.stdin : createReadStream(name));
    const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_SIZE), 0, HEAD_SIZE, 0);
    const form = formatOf(name, buffer.subarray(0, bytesRead), bytesRead < HEAD_SIZE);
    const opened = file;
    const read = () => contentOf(opened, form);
    return { name, format: form, digest: await digestOf(name, read()), read, close: () => opened.close() };
  } catch (error) {
    await file?.close();
    throw error instanceof SourceError
      ? error
      : new Error(`${name} cannot be read: ${fileFault(error)}`, { cause: error });
  }
}

/** A fault of a file as a whole. */
class SourceError extends Error {}

/** Copies a stream to an unlinked file. */
async function spooled(name: string, stream: NodeJS.ReadableStream): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'petstore-load-'));
  let file: FileHandle | undefined;
  try {
    file = await open(join(folder, 'rows'), 'wx+', 0o600);
    await rm(folder, { recursive: true });
    // Anything that is obviously not a file of rows is refused before an endless stream fills the disk.
    let head = Buffer.alloc(0);
    let format: FileFormat | undefined;
    let [size, line] = [0, 0];
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (!format && (head = Buffer.concat([head, chunk])).length >= HEAD_SIZE)
        format = formatOf(name, head.subarray(0, HEAD_SIZE), false);
      for (let at = 0; at < chunk.length;)
        at += (await file.write(chunk, at, chunk.length - at, size + at)).bytesWritten;
      size += chunk.length;
      const end = Math.max(chunk.lastIndexOf('\n'), chunk.lastIndexOf('\r'));
      line = end < 0 ? line + chunk.length : chunk.length - end;
      if (line > 2 * MAX_ROW_SIZE && format!.kind !== 'array')
        throw new SourceError(`${name} has a line that is longer than ${MAX_ROW_SIZE / 1_048_576} MB.`);
    }
    return file;
  } catch (error) {
    await file?.close();
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function* contentOf(file: FileHandle, { offset }: FileFormat): AsyncGenerator<Buffer> {
  for (let at = offset; ;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(CHUNK_SIZE), 0, CHUNK_SIZE, at);
    if (bytesRead === 0) return;
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export const LINE_FEED = 10;

/**
 * The lines of a file without line ends, a batch per chunk. Only line feeds end lines, since other line terminators
 * occur within texts. The last line may be empty.
 *
 * @param most the maximum length of a line in bytes; a longer one is cut off and ends the file
 */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<Buffer[]> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = Buffer.concat([rest, chunk]);
    const lines: Buffer[] = [];
    let at = 0;
    for (let end = bytes.indexOf(LINE_FEED); end >= 0; end = bytes.indexOf(LINE_FEED, at)) {
      lines.push(bytes.subarray(at, end));
      at = end + 1;
    }
    rest = bytes.subarray(at);
    yield lines;
    if (rest.length > most) break;
  }
  yield [rest];
}

/** @throws SourceError if the content is not UTF-8 */
async function digestOf(name: string, content: AsyncIterable<Buffer>): Promise<string> {
  const digest = createHash('sha256');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (...args: Parameters<TextDecoder['decode']>) => {
    try {
      decoder.decode(...args);
    } catch {
      throw notUtf8(name);
    }
  };
  for await (const chunk of content) {
    decode(chunk, { stream: true });
    digest.update(chunk);
  }
  decode();
  return digest.digest('hex');
}

const notUtf8 = (name: string): SourceError =>
  new SourceError(`${name} is not in UTF-8. Save it as "CSV UTF-8".`);

/** Detects the form of a file. @param isWhole true if `head` is the whole file */
function formatOf(name: string, head: Buffer, isWhole: boolean): FileFormat {
  const startsWith = (...bytes: number[]) => bytes.every((byte, n) => head[n] === byte);
  if (startsWith(0xff, 0xfe) || startsWith(0xfe, 0xff)) throw notUtf8(name);
  if (startsWith(0x50, 0x4b, 3, 4))
    throw new SourceError(`${name} is a workbook or another archive. Save its sheet as "CSV UTF-8".`);
  if (head.includes(0))
    throw new SourceError(`${name} is not text: it contains a zero byte. Save it as "CSV UTF-8".`);
  const mark = startsWith(0xef, 0xbb, 0xbf) ? 3 : 0;
  const text = head.toString('utf8', mark);
  const [json] = /^[[{][^\r\n]*/.exec(text.trimStart()) ?? [];
  if (json !== undefined) {
    const single = json.startsWith('[') ? 'array' : 'lines';
    const kind = /^\{.*[{[,]?\s*$/.test(json) && !json.trimEnd().endsWith('}') ? 'values' : single;
    return { kind, delimiter: ',', offset: mark, line: 1 };
  }
  // Excel's declaration of the separator.
  const [first = '', separator] = /^"?sep=(.)"?[^\S\r\n]*(?:\r\n?|\n)/i.exec(text) ?? [];
  const rest = text.slice(first.length);
  const [header = ''] = /^\s*[^\r\n]*/.exec(rest) ?? [];
  if (header.length === rest.length && !isWhole)
    throw new SourceError(
      `${name} has no line end in its first ${HEAD_SIZE / 1_024} kB: it is not CSV with a header.`,
    );
  return {
    kind: 'csv',
    delimiter: separator ?? delimiterOf(header),
    offset: mark + Buffer.byteLength(first),
    line: first === '' ? 1 : 2,
  };
}

/** The most frequent separator in a header. */
function delimiterOf(header: string): string {
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: string) => unquoted.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best));
}
