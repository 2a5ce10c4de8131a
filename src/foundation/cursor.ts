import { crc32 } from 'node:zlib';
import { type Id, parseId } from './id.ts';

/** The value of a record that a list is ordered by; null if it has none. */
export type SortValue = string | number | boolean | null;

/** A place in a list: that of the record with this value and id, whether or not it exists any more. */
export interface Position {
  value: SortValue;
  id: Id;
}

/** Longer than any cursor, whose value has at most 200 characters of 4 bytes. */
export const MAX_CURSOR_LENGTH = 1_280;

/**
 * Encodes a place in a list as opaque text of letters, digits, `-` and `_`.
 *
 * @param list the kind of records and their order, which the cursor belongs to
 */
export function encodeCursor(list: string, { value, id }: Position): string {
  const content = Buffer.from(JSON.stringify([list, value, id]));
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([checksum, content]).toString('base64url');
}

/**
 * Decodes a cursor.
 *
 * @param isValue whether a list with this order can have the value
 * @returns null unless it is the cursor of such a list, unchanged
 */
export function decodeCursor(
  list: string,
  cursor: string,
  isValue: (value: unknown) => boolean,
): Position | null {
  if (cursor.length > MAX_CURSOR_LENGTH) return null;
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(cursor, 'base64url').subarray(4).toString());
  } catch {
    return null;
  }
  if (!Array.isArray(content)) return null;
  const [belongsTo, value, id] = content;
  if (belongsTo !== list || typeof id !== 'string' || parseId(id) === null || !isValue(value)) return null;
  const position: Position = { value, id };
  // Covers the checksum and whatever base64 and JSON permit beyond their canonical form.
  return encodeCursor(list, position) === cursor ? position : null;
}
