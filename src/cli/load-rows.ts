import { once } from 'node:events';
import { Tokenizer, TokenType } from '@streamparser/json';
import { type CsvError, parse } from 'csv-parse';
import { closest, distance } from 'fastest-levenshtein';
import { type AppError, unknownNames } from '../foundation/errors.ts';
import type { Field } from '../foundation/fields.ts';
import { formatInstant } from '../foundation/instant.ts';
import type { Fields } from '../foundation/record.ts';
import { asObject, exactNumber, parseJson } from '../http/parse-json.ts';
import { LINE_FEED, linesOf, MAX_ROW_SIZE, type Source } from './load-source.ts';

/** A row of a file, with unchecked values. */
export interface Row {
  /** The position among all rows of the file, from 0. */
  index: number;
  /** The line, from 1, on which it ends, or on which it begins as an item of a JSON array. */
  line: number;
  /** The position in a JSON array, from 1. */
  item?: number;
  values: Record<string, unknown>;
}

/** Called with the fault of a line. */
export type OnFault = (line: number, message: string) => void;

/** The permitted columns of a file, and the fields of the record. */
export interface Columns {
  /** The fields of the record. */
  fields: Fields;
  /** The permitted names of a column. */
  names: readonly string[];
  /** Fields of the record by names of columns in this file. */
  map: ReadonlyMap<string, string>;
  /** True to ignore other columns instead of refusing them. */
  ignoreUnknown: boolean;
}

/** The maximum number of rows that are read together. */
const BATCH_SIZE = 500;
/** The maximum number of listed faults. */
export const MAX_FAULTS = 50;

/**
 * Reads the rows of a file: CSV with a header, one JSON object per line, or a JSON array of objects. Skips empty rows.
 *
 * @throws Error if the file can't be read, or its header is wrong
 */
export async function* readRows(source: Source, columns: Columns, onFault: OnFault): AsyncGenerator<Row[]> {
  const read = { csv: readCsv, lines: readLines, array: readItems, values: readItems }[source.format.kind];
  let batch: Row[] = [];
  let index = 0;
  for await (const rows of read(source, columns, onFault))
    for (const row of rows) {
      row.index = index++;
      if (batch.push(row) < BATCH_SIZE) continue;
      yield batch;
      batch = [];
    }
  yield batch;
}

type Reader = (source: Source, columns: Columns, onFault: OnFault) => AsyncGenerator<Row[]>;

const rowOf = (line: number, values: Row['values']): Row => ({ index: 0, line, values });

// ---- CSV

const breaksIn = (text: string): number => text.match(/\r\n?|\n/g)?.length ?? 0;

/**
 * Counts lines itself, because csv-parse (7.0) counts a CRLF within quotes twice, and says where a row with an error
 * begins, but not where the error is.
 */
const readCsv: Reader = async function* (source, columns, onFault) {
  const { delimiter, line: firstLine } = source.format;
  /** The latest text, at least from the beginning of the current row. */
  const chunks: Buffer[] = [];
  let [size, end] = [0, 0];
  const parser = parse({
    delimiter,
    trim: true,
    relax_column_count: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    max_record_size: MAX_ROW_SIZE,
    skip_records_with_error: true,
    on_skip: (error: CsvError | undefined) => {
      const begin = Number(error?.bytes) - (end - size);
      if (error) parser.push(Buffer.concat(chunks).toString('utf8', begin));
    },
  });
  /** The latest rows, or the text from a row with wrong quotes on. */
  const records: (string[] | string)[] = [];
  // Iterating the parser would make several promises for each row.
  parser.on('data', (record) => records.push(record));
  async function* parsed() {
    for await (const chunk of source.read()) {
      chunks.push(chunk);
      size += chunk.length;
      end += chunk.length;
      while (size - chunks[0]!.length > 2 * MAX_ROW_SIZE) size -= chunks.shift()!.length;
      if (!parser.write(chunk)) await once(parser, 'drain');
      yield records.splice(0);
    }
    parser.end();
    await once(parser, 'end');
    yield records;
  }

  let line = firstLine - 1;
  let valuesOf: ReturnType<typeof headerOf> | undefined;
  for await (const some of parsed()) {
    const rows: Row[] = [];
    for (const record of some) {
      if (typeof record === 'string') {
        const fault = quoteFault(record, delimiter, line + 1);
        onFault(fault.line, `${fault.message}; what follows was not read`);
        yield rows;
        return;
      }
      line++;
      let isEmpty = true;
      for (const value of record) {
        if (value === '') continue;
        isEmpty = false;
        if (value.includes('\n') || value.includes('\r')) line += breaksIn(value);
      }
      if (isEmpty) continue;
      if (!valuesOf) {
        valuesOf = headerOf(record, columns);
        continue;
      }
      const values = valuesOf(record, line, onFault);
      if (values) rows.push(rowOf(line, values));
    }
    yield rows;
  }
};

/** Finds the first wrong quote. @param begin the line on which the row begins */
function quoteFault(text: string, delimiter: string, begin: number): { line: number; message: string } {
  const lineAt = (at: number): number => begin + breaksIn(text.slice(0, at));
  const isEnd = (character: string | undefined) =>
    character === undefined || character === delimiter || /[\r\n]/.test(character);
  for (let opening = text.indexOf('"'); opening >= 0;) {
    const before = text
      .slice(Math.max(0, opening - 1_000), opening)
      .replace(/ +$/, '')
      .at(-1);
    const opened = lineAt(opening);
    if (!isEnd(before)) return { line: opened, message: 'a value has a quote inside: write it as "…""…"' };
    let closing = text.indexOf('"', opening + 1);
    while (closing >= 0 && text[closing + 1] === '"') closing = text.indexOf('"', closing + 2);
    if (closing < 0) return { line: opened, message: `the quote that opens on line ${opened} is not closed` };
    const next = /[^ ]/.exec(text.slice(closing + 1, closing + 1_000))?.[0];
    if (!isEnd(next)) {
      const message = `text follows a closing quote; the quote opens on line ${opened}`;
      return { line: lineAt(closing), message };
    }
    opening = text.indexOf('"', closing + 1);
  }
  return { line: begin, message: `the row is longer than ${MAX_ROW_SIZE / 1_048_576} MB` };
}

/**
 * @returns a function that returns the values of a row; undefined if it does not fit
 * @throws Error if the header is wrong, as every row would then be
 */
function headerOf(names: readonly string[], columns: Columns) {
  const length = names.findLastIndex((name) => name !== '') + 1;
  const targets = names.slice(0, length).map((name) => targetOf(name, columns));
  const unknown = [
    ...new Set(names.filter((name, n) => name !== '' && name !== '_id' && targets[n] === undefined)),
  ];
  const faults = columns.ignoreUnknown ? [] : unknownColumns(unknown, columns);
  const wanted = targets.filter((target) => target !== undefined);
  for (const twice of new Set(wanted.filter((target, n) => wanted.indexOf(target) < n)))
    faults.push(`${twice}: is there twice`);
  for (const [name, field] of columns.map)
    if (!names.includes(name)) faults.push(`--map ${name}=${field}: there is no column ${name}`);
  if (faults.length > 0)
    throw new Error(['Nothing was loaded: the header is wrong.', ...faults.slice(0, MAX_FAULTS)].join('\n'));
  const count = `the header has ${length} ${length === 1 ? 'column' : 'columns'}`;

  return (record: readonly string[], line: number, onFault: OnFault): Row['values'] | undefined => {
    let { length: filled } = record;
    while (filled > length && record[filled - 1] === '') filled--;
    if (filled !== length) {
      onFault(line, `has ${filled} ${filled === 1 ? 'value' : 'values'}, but ${count}`);
      return undefined;
    }
    const values: Row['values'] = {};
    for (let n = 0; n < length; n++) {
      const target = targets[n];
      const cell = record[n]!;
      // Skips an ObjectId of mongoexport.
      if (names[n] === '_id' && isObjectId(cell)) continue;
      if (target !== undefined) values[target] = parsedCell(cell, columns.fields[target]);
      // The first column may be pandas' index.
      else if (cell !== '' && names[n] === '' && n > 0)
        onFault(line, `column ${n + 1}: has no name in the header`);
      else if (cell !== '' && names[n] === '_id' && !columns.ignoreUnknown)
        onFault(line, '_id: is not a field; --ignore-unknown ignores it');
    }
    return values;
  };
}

/** The field for a column; undefined if none. */
function targetOf(column: string, { map, names }: Columns): string | undefined {
  const name = map.get(column) ?? column;
  if (names.includes(name)) return name;
  return name === '_id' && names.includes('id') ? 'id' : undefined;
}

/** The faults for columns that aren't fields. */
function unknownColumns(unknown: readonly string[], { names }: Columns): string[] {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
  const faults = unknownNames(unknown, 'column', names).map(({ path, message }) => {
    const near = names[names.map(plain).indexOf(closest(plain(path), names.map(plain)))];
    const isNear = near !== undefined && distance(plain(path), plain(near)) <= near.length / 2;
    return `${path}: ${message}${isNear ? `; did you mean ${near}?` : ''}`;
  });
  if (unknown.length > 0)
    faults.push('--map COLUMN=FIELD names the field of a column, --ignore-unknown ignores such columns.');
  return faults;
}

const isObjectId = (text: string): boolean => /^(?:ObjectId\()?"?[0-9a-f]{24}"?\)?$/i.test(text);

/** The content of a cell as a value for its field's rule; undefined if empty. */
function parsedCell(cell: string, field: Field | undefined): unknown {
  if (cell === '') return undefined;
  switch (field?.kind ?? 'id') {
    case 'integer':
      // Programs write 3.0 in an integer column that also has empty cells.
      return /^-?\d{1,15}(?:\.0+)?$/.test(cell) ? Number(cell) : cell;
    case 'id':
    case 'bigInteger':
      return /^-?\d+\.0+$/.test(cell) ? cell.replace(/\.0+$/, '') : cell;
    case 'boolean':
      return /^(?:true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell;
    default:
      return cell;
  }
}

// ---- JSON

const readLines: Reader = async function* (source, columns, onFault) {
  let line = source.format.line - 1;
  for await (const lines of linesOf(source.read(), MAX_ROW_SIZE)) {
    const rows: Row[] = [];
    for (const bytes of lines) {
      line++;
      if (bytes.length > MAX_ROW_SIZE) {
        onFault(line, `is longer than ${MAX_ROW_SIZE / 1_048_576} MB`);
        return;
      }
      const row = isBlank(bytes) ? undefined : objectOf(bytes, 'The line', line, columns, onFault);
      if (row) rows.push(row);
    }
    yield rows;
  }
};

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte <= 32);

/** Values one after another, in an array or not, across lines. */
const readItems: Reader = async function* (source, columns, onFault) {
  const tokenizer = new Tokenizer();
  let rows: Row[] = [];
  let item = 0;
  let depth = 0;
  /** The incomplete value, and its offset in the file. */
  let [bytes, start] = [Buffer.alloc(0), 0];
  let line = source.format.line;
  let opened = 0;
  let fault: string | undefined;
  const base = source.format.kind === 'array' ? 1 : 0;
  const moveTo = (offset: number) => {
    for (let n = bytes.indexOf(LINE_FEED); n >= 0 && n < offset - start; n = bytes.indexOf(LINE_FEED, n + 1))
      line++;
    bytes = bytes.subarray(offset - start);
    start = offset;
  };
  tokenizer.onToken = ({ token, offset }) => {
    const opens = token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET;
    const closes = token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET;
    if (opens && depth++ === base) {
      moveTo(offset);
      opened = line;
    }
    if (closes && --depth === base) {
      const text = bytes.subarray(0, offset + 1 - start);
      const row = objectOf(text, `Item ${++item}`, opened, columns, onFault);
      if (row) rows.push({ ...row, item });
      moveTo(offset + 1);
    } else if (depth === base && !opens && token !== TokenType.COMMA && fault === undefined) {
      moveTo(offset);
      fault = `item ${++item} must be a JSON object`;
    }
  };
  tokenizer.onError = (error) => {
    fault ??= `not valid JSON: ${error.message}`;
  };
  for await (const chunk of source.read()) {
    bytes = Buffer.concat([bytes, chunk]);
    tokenizer.write(chunk);
    yield rows;
    rows = [];
    if (fault === undefined && bytes.length > MAX_ROW_SIZE + chunk.length)
      fault = `an item is longer than ${MAX_ROW_SIZE / 1_048_576} MB`;
    if (fault !== undefined) {
      onFault(line, fault);
      return;
    }
  }
  if (depth > 0) onFault(line, `what opens here is not closed: the file ends before`);
};

/** @param what the name of the text in messages */
function objectOf(
  bytes: Buffer,
  what: string,
  line: number,
  columns: Columns,
  onFault: OnFault,
): Row | undefined {
  let object: Record<string, unknown>;
  try {
    object = asObject(parseJson(bytes, what), what);
  } catch (error) {
    onFault(line, (error as AppError).message);
    return undefined;
  }
  const values: Row['values'] = {};
  const unknown: string[] = [];
  for (const [name, wrapped] of Object.entries(object)) {
    const target = targetOf(name, columns);
    const value = unwrapped(wrapped);
    if (name === '_id' && typeof value === 'string' && isObjectId(value)) continue;
    if (target !== undefined) values[target] = value;
    else if (!columns.ignoreUnknown) unknown.push(name);
  }
  for (const message of unknownColumns(unknown, columns).slice(0, unknown.length))
    onFault(line, message.replace('known column', 'known field'));
  return rowOf(line, values);
}

/** Converts a value from MongoDB's extended JSON to plain JSON. */
function unwrapped(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const [[type, inner] = [undefined, undefined], ...others] = Object.entries(value);
  if (others.length > 0) return value;
  switch (type) {
    case '$numberInt':
    case '$numberLong':
    case '$numberDouble':
    case '$numberDecimal':
      return exactNumber(String(inner));
    case '$date': {
      const time = unwrapped(inner);
      return typeof time === 'number' ? formatInstant(time) : time;
    }
    case '$oid':
      return inner;
    default:
      return value;
  }
}
