import { type Id, parseId } from './id.ts';

/** The value of a record that a list is ordered by; null if it has none. */
export type SortValue = string | number | boolean | null;

/** The position in a list of the record with this value and id, whether or not it still exists. */
export interface Position {
  value: SortValue;
  id: Id;
}

/** An upper bound on the length of a cursor: its value has at most 200 characters of 4 bytes. */
export const MAX_CURSOR_LENGTH = 1_280;

/**
 * Encodes a position in a list as opaque text of letters, digits, `-` and `_`.
 *
 * @param list the record kind and order that the cursor belongs to
 */
export const encodeCursor = (list: string, { value, id }: Position): string =>
  Buffer.from(JSON.stringify([list, value, id])).toString('base64url');

/**
 * Decodes a cursor.
 *
 * @param isValue true if a list in this order can have the value
 * @returns null if it is not a cursor of this list
 */
export function decodeCursor(
  list: string,
  cursor: string,
  isValue: (value: unknown) => boolean,
): Position | null {
  if (cursor.length > MAX_CURSOR_LENGTH) return null;
  try {
    const [belongsTo, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (belongsTo !== list || parseId(id) !== id || !isValue(value)) return null;
    // Base64 and JSON allow several spellings; only the canonical one is accepted.
    return encodeCursor(list, { value, id }) === cursor ? { value, id } : null;
  } catch {
    return null;
  }
}
