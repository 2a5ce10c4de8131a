import { createReadStream } from 'node:fs';
import { pipeline, Readable } from 'node:stream';
import { type CsvError, type Info, parse } from 'csv-parse';
import type { AppError } from '../foundation/errors.ts';
import type { Field } from '../foundation/fields.ts';
import type { AnyRecord, Fields } from '../foundation/record.ts';
import { parseJson } from '../http/json.ts';

/** A row of a file, before its values are checked. */
export interface Row {
  /** Where it ends in the file; the first is 1. */
  line: number;
  values: Readonly<Record<string, unknown>>;
}

/** Called for each row that can't be read. */
export type OnFault = (line: number, message: string) => void;

const MAX_ROW_LENGTH = 1_000_000;

/**
 * The rows of a file: CSV with a header, separated by commas, semicolons or tabs, or a JSON object a line.
 *
 * @param columns those that a header may name
 * @throws Error if it can't be read, or is not UTF-8
 */
export async function* rowsOf(
  file: string,
  { fields }: AnyRecord,
  columns: readonly string[],
  onFault: OnFault,
): AsyncGenerator<Row> {
  const rest = textOf(file);
  const { value: head = '' } = await rest.next();
  async function* text() {
    yield head;
    yield* rest;
  }
  if (head.trimStart().startsWith('{')) yield* jsonRows(text(), onFault);
  else yield* csvRows(text(), delimiterOf(head), fields, columns, onFault);
}

/** The text of a file in UTF-8, or of standard input for `-`, without its byte order mark. @throws Error if it can't be read */
export async function* textOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of file === '-' ? process.stdin : createReadStream(file))
      yield decoder.decode(chunk as Buffer, { stream: true });
    yield decoder.decode();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw new Error(`${file} cannot be read: ${message}`);
    throw new Error(`${file} is not in UTF-8. Save it as "CSV UTF-8".`);
  }
}

async function* csvRows(
  text: AsyncIterable<string>,
  delimiter: string,
  fields: Fields,
  columns: readonly string[],
  onFault: OnFault,
): AsyncGenerator<Row> {
  const parser = parse({
    columns: (names: string[]) => checkedHeader(names, columns),
    delimiter,
    info: true,
    trim: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_LENGTH,
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined) => {
      if (error) onFault(Number(error.lines), error.message.replace(/ (on|at) line \d+/, ''));
    },
  });
  // What fails while the file is read ends the loop below.
  pipeline(Readable.from(text), parser, () => {});
  for await (const { record, info } of parser as AsyncIterable<{
    record: Record<string, string>;
    info: Info;
  }>) {
    const values = Object.entries(record)
      .filter(([, cell]) => cell !== '')
      .map(([name, cell]) => [name, parsedCell(cell, fields[name])]);
    yield { line: info.lines, values: Object.fromEntries(values) };
  }
}

/** @throws Error once for what would be wrong with each row */
function checkedHeader(names: readonly string[], columns: readonly string[]): string[] {
  const header = names.map((name) => name.trim());
  const unknown = header.filter((name) => !columns.includes(name));
  const repeated = header.filter((name, n) => header.indexOf(name) < n);
  if (unknown.length + repeated.length === 0) return header;
  const known = `The columns are ${columns.join(', ')}.`;
  throw new Error(
    [
      'Nothing was loaded: the header is wrong.',
      ...unknown.map((name) => `${name}: is no column. ${known}`),
      ...repeated.map((name) => `${name}: is there twice.`),
    ].join('\n'),
  );
}

/** The separator that the header has most of. */
function delimiterOf(head: string): string {
  const header = head.slice(0, head.search(/[\r\n]|$/)).replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: string) => header.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best));
}

/** What a cell says, as a value that the rule of its field can judge. */
function parsedCell(cell: string, field: Field | undefined): unknown {
  if (field?.kind === 'integer' && /^-?\d{1,15}$/.test(cell)) return Number(cell);
  if (field?.kind === 'boolean' && /^(true|false)$/i.test(cell)) return cell.toLowerCase() === 'true';
  return cell;
}

async function* jsonRows(lines: AsyncIterable<string>, onFault: OnFault): AsyncGenerator<Row> {
  let line = 0;
  for await (const text of linesOf(lines)) {
    line++;
    if (text.trim() === '') continue;
    let values: unknown;
    try {
      values = parseJson(Buffer.from(text), 'The line');
    } catch (error) {
      onFault(line, (error as AppError).message);
      continue;
    }
    if (typeof values === 'object' && values !== null && !Array.isArray(values))
      yield { line, values: values as Row['values'] };
    else onFault(line, 'must be a JSON object');
  }
}

/** The lines of a text. @throws Error if one is too long */
export async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of texts) {
    const lines = (rest + text).split('\n');
    rest = lines.pop()!;
    if (rest.length > MAX_ROW_LENGTH)
      throw new Error(`There is a line of more than ${MAX_ROW_LENGTH} bytes.`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Divides rows into batches of this size. */
export async function* inBatches<T>(rows: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
