import type { Method } from '../../domains/route.ts';
import { parseMediaRanges } from '../../http/media-type.ts';

const JSON_TYPE = 'application/json';
const JSON_TYPES = [JSON_TYPE];
const PATCH_TYPES = [JSON_TYPE, 'application/merge-patch+json'];

/** The media types in which a method reads its body. */
export const bodyTypesOf = (method: Method): readonly string[] =>
  method === 'PATCH' ? PATCH_TYPES : JSON_TYPES;

/**
 * How JSON has an int64: as an integer, or as a string of digits for callers whose numbers are IEEE 754 doubles and
 * would round it. The media type parameter that asks for the second is OData's (OData JSON Format 4.01, section 3.2).
 */
export type Int64Format = 'integer' | 'string';

const PARAMETER = 'ieee754compatible';

export const CONTENT_TYPES: Readonly<Record<Int64Format, string>> = {
  integer: JSON_TYPE,
  string: `${JSON_TYPE};IEEE754Compatible=true`,
};

/**
 * Chooses the notation by an Accept header (RFC 9110 section 12.5.1). Strings are given only to those who name the
 * parameter, and who want nothing else more.
 *
 * @returns null where the header excludes JSON
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

/** The notation of a body by its Content-Type, which is known to be readable. */
export function int64FormatOf(contentType: string | undefined): Int64Format {
  if (contentType === undefined || contentType === JSON_TYPE) return 'integer';
  const [range] = parseMediaRanges(contentType);
  return wantsStrings(range!.parameters) ? 'string' : 'integer';
}

const wantsStrings = (parameters: ReadonlyMap<string, string>): boolean =>
  parameters.get(PARAMETER) === 'true';
