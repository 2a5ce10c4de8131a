import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { type CsvError, type Info, parse } from 'csv-parse/sync';
import { type AppError, unknownNames } from '../foundation/errors.ts';
import type { Field } from '../foundation/fields.ts';
import type { Fields } from '../foundation/record.ts';
import { asObject, parseJson } from '../http/json.ts';

/** A row of a file, before its values are checked. */
export interface Row {
  /** Where it ends in the file; the first is 1. */
  line: number;
  values: Record<string, unknown>;
}

/** Called with what is wrong with a line. */
export type OnFault = (line: number, message: string) => void;

/**
 * Reads the rows of a file: CSV with a header, separated by commas, semicolons or tabs, or a JSON object a line.
 *
 * @param file `-` for standard input
 * @param fields of the record
 * @param columns those that a header may name
 * @throws Error if it can't be read, or is not UTF-8
 */
export async function readRows(
  file: string,
  fields: Fields,
  columns: readonly string[],
  onFault: OnFault,
): Promise<Row[]> {
  const bytes = await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: Error) => {
    throw new Error(`${file} cannot be read: ${error.message}`);
  });
  if (!isUtf8(bytes)) throw new Error(`${file} is not in UTF-8. Save it as "CSV UTF-8".`);
  // Without a byte order mark.
  const text = new TextDecoder().decode(bytes);
  return text.trimStart().startsWith('{') ? readJson(text, onFault) : readCsv(text, fields, columns, onFault);
}

const readCsv = (text: string, fields: Fields, columns: readonly string[], onFault: OnFault): Row[] =>
  parse(text, {
    columns: (names: string[]) => checkedHeader(names, columns),
    delimiter: delimiterOf(text),
    trim: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined) => {
      if (error) onFault(Number(error.lines), error.message.replace(/ (on|at) line \d+/, ''));
    },
    on_record: (values: Record<string, unknown>, { lines: line }: Info): Row => {
      for (const name in values) values[name] = parsedCell(values[name] as string, fields[name]);
      return { line, values };
    },
  });

/** @throws Error once for what would be wrong with each row */
function checkedHeader(names: string[], columns: readonly string[]): string[] {
  const unknown = names.filter((name) => !columns.includes(name));
  const repeated = names.filter((name, n) => names.indexOf(name) < n);
  if (unknown.length + repeated.length === 0) return names;
  const issues = unknownNames(unknown, 'column', columns).map(({ path, message }) => `${path}: ${message}`);
  const twice = repeated.map((name) => `${name}: is there twice`);
  throw new Error(['Nothing was loaded: the header is wrong.', ...issues, ...twice].join('\n'));
}

/** The separator that the header has most of. */
function delimiterOf(head: string): string {
  const header = head.slice(0, head.search(/[\r\n]|$/)).replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: string) => header.split(delimiter).length;
  return [',', ';', '\t'].reduce((best, each) => (count(each) > count(best) ? each : best));
}

/** What a cell says, as a value that the rule of its field can judge; undefined if it is empty. */
function parsedCell(cell: string, field: Field | undefined): unknown {
  if (cell === '') return undefined;
  if (field?.kind === 'integer' && /^-?\d{1,15}$/.test(cell)) return Number(cell);
  if (field?.kind === 'boolean' && /^(true|false)$/i.test(cell)) return cell.toLowerCase() === 'true';
  return cell;
}

const readJson = (text: string, onFault: OnFault): Row[] =>
  text.split('\n').flatMap((json, n) => {
    if (json.trim() === '') return [];
    try {
      return { line: n + 1, values: asObject(parseJson(Buffer.from(json), 'The line'), 'The line') };
    } catch (error) {
      onFault(n + 1, (error as AppError).message);
      return [];
    }
  });
