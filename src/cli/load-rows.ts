import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type CsvError, type Info, parse } from 'csv-parse/sync';
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

/**
 * Reads the rows of a file: CSV with a header, separated by commas, semicolons or tabs, or a JSON object a line.
 *
 * @param file `-` for standard input
 * @param columns those that a header may name
 * @throws Error if it can't be read, or is not UTF-8
 */
export async function readRows(
  file: string,
  { fields }: AnyRecord,
  columns: readonly string[],
  onRow: (row: Row) => void,
  onFault: OnFault,
): Promise<void> {
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}`);
  });
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file} is not in UTF-8. Save it as "CSV UTF-8".`);
  }
  if (text.trimStart().startsWith('{')) readJson(text, onRow, onFault);
  else readCsv(text, fields, columns, onRow, onFault);
}

function readCsv(
  text: string,
  fields: Fields,
  columns: readonly string[],
  onRow: (row: Row) => void,
  onFault: OnFault,
): void {
  parse(text, {
    columns: (names: string[]) => checkedHeader(names, columns),
    delimiter: delimiterOf(text),
    trim: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined) => {
      if (error) onFault(Number(error.lines), error.message.replace(/ (on|at) line \d+/, ''));
    },
    on_record: (record: Record<string, string>, { lines }: Info) => {
      const values = Object.entries(record)
        .filter(([, cell]) => cell !== '')
        .map(([name, cell]) => [name, parsedCell(cell, fields[name])]);
      onRow({ line: lines, values: Object.fromEntries(values) });
      return null;
    },
  });
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

function readJson(text: string, onRow: (row: Row) => void, onFault: OnFault): void {
  for (const [n, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    try {
      const values = parseJson(Buffer.from(line), 'The line');
      if (typeof values === 'object' && values !== null && !Array.isArray(values))
        onRow({ line: n + 1, values: values as Row['values'] });
      else onFault(n + 1, 'must be a JSON object');
    } catch (error) {
      onFault(n + 1, (error as AppError).message);
    }
  }
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
