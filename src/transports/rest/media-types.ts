import { parseMediaRanges } from '../../http/media-type.ts';
import { NDJSON } from '../../schema/route.ts';

const JSON_TYPE = 'application/json';

/**
 * How JSON represents an int64: as an integer, or as a string of digits for callers whose numbers are IEEE
 * 754 doubles. The media type parameter that selects strings is OData's (OData JSON Format 4.01, section
 * 3.2).
 */
export type Int64Format = 'integer' | 'string';

const PARAMETER = 'ieee754compatible';

export const CONTENT_TYPES: Readonly<Record<Int64Format, string>> = {
  integer: JSON_TYPE,
  string: `${JSON_TYPE};IEEE754Compatible=true`,
};

/**
 * Negotiates the format with the Accept header (RFC 9110 section 12.5.1). Strings are chosen only if the
 * header names the parameter and prefers nothing else.
 *
 * @returns null if the header excludes JSON
 */
export function negotiateInt64Format(accept: string | undefined): Int64Format | null {
  if (accept === undefined || accept === '*/*' || accept === JSON_TYPE || accept.trim() === '')
    return 'integer';
  const ranges = parseMediaRanges(accept);
  const asString = ranges.find((range) => range.type === JSON_TYPE && wantsStrings(range.parameters));
  const plain = ranges.filter((range) => range !== asString);
  const asInteger = [JSON_TYPE, 'application/*', '*/*']
    .map((type) => plain.find((range) => range.type === type))
    .find((range) => range !== undefined);
  const [strings, integers] = [asString?.quality ?? 0, asInteger?.quality ?? 0];
  if (strings > 0 && strings >= integers) return 'string';
  return integers > 0 ? 'integer' : null;
}

/**
 * Whether an Accept header asks for a list with one record per line: it must name that type, and prefer JSON
 * no more.
 */
export function prefersNdjson(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes(NDJSON)) return false;
  const ranges = parseMediaRanges(accept);
  const quality = ranges.find(({ type }) => type === NDJSON)?.quality ?? 0;
  const json = [JSON_TYPE, 'application/*', '*/*']
    .map((name) => ranges.filter(({ type }) => type === name))
    .find((named) => named.length > 0);
  return quality > 0 && (json ?? []).every((range) => range.quality <= quality);
}

/** The format of a request body. Its Content-Type is known to be acceptable. */
export function int64FormatOf(contentType: string | undefined): Int64Format {
  if (contentType === undefined || contentType === JSON_TYPE) return 'integer';
  const [range] = parseMediaRanges(contentType);
  return wantsStrings(range!.parameters) ? 'string' : 'integer';
}

const wantsStrings = (parameters: ReadonlyMap<string, string>): boolean =>
  parameters.get(PARAMETER) === 'true';
