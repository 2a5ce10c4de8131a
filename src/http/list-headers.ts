import type { IncomingHttpHeaders } from 'node:http';

/** Members of a list in a header, and parameters of one member. */
const MAX_MEMBERS = 32;

/** Headers that are lists, of members with parameters (RFC 9110 section 5.6.1, RFC 7239). */
const LISTS: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'access-control-request-headers',
  'cache-control',
  'connection',
  'content-encoding',
  'content-language',
  'content-type',
  'expect',
  'forwarded',
  'if-match',
  'if-none-match',
  'pragma',
  'prefer',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'vary',
  'via',
  'x-forwarded-for',
]);

/** The name of a list header that has too many members, or too many parameters at one of them, if there is any. */
export function findLongList(headers: IncomingHttpHeaders): string | undefined {
  for (const name in headers) {
    const value = headers[name];
    // Members have a character between them.
    if (typeof value === 'string' && value.length >= MAX_MEMBERS && LISTS.has(name) && isLong(value))
      return name;
  }
  return undefined;
}

/** Also counts what is quoted, since a quoted string with so many commas is no better. */
function isLong(value: string): boolean {
  let members = 1;
  let parameters = 0;
  let quotes = 0;
  for (let at = 0; at < value.length; at++) {
    const character = value[at];
    if (character === ',') {
      members++;
      parameters = 0;
    } else if (character === ';') parameters++;
    else if (character === '"') quotes++;
    if (members > MAX_MEMBERS || parameters > MAX_MEMBERS || quotes > 2 * MAX_MEMBERS) return true;
  }
  return false;
}

export const LONG_LIST_RULE = `must have at most ${MAX_MEMBERS} members`;
