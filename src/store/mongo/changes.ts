import type { Document, UpdateFilter } from 'mongodb';
import type { Version } from './collection.ts';

/**
 * The field in which an update stores a copy of everything clients see of the record. A change stream reports
 * only the fields an update sets; the full document of that moment is available only on servers configured to
 * keep it.
 */
export const SNAPSHOT = 'written';

/** Fields of an earlier layout. They are ignored, and removed by the next update. */
const FORMER_FIELDS = ['openOrders', 'pets', 'heldAt'];

/**
 * Builds an update that sets these values (null removes, undefined keeps) and increments the version. Returns
 * null if nothing changes, so that an empty patch writes nothing.
 *
 * @param fields the fields that clients see
 */
export function updateFor<D extends { version: Version }>(
  fields: object,
  document: D,
  values: Document,
): UpdateFilter<D> | null {
  const before: Document = document;
  const set: Document = {};
  const unset: Document = {};
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || sameValue(before[name], value)) continue;
    if (value === null) unset[name] = true;
    else set[name] = value;
  }
  if (Object.keys(set).length + Object.keys(unset).length === 0) return null;
  for (const name of FORMER_FIELDS) if (name in before) unset[name] = true;
  return {
    $inc: { version: 1 },
    $set: { ...set, [SNAPSHOT]: snapshotAfter(fields, before, values) },
    ...(Object.keys(unset).length > 0 && { $unset: unset }),
  } as unknown as UpdateFilter<D>;
}

function snapshotAfter(fields: object, before: Document, values: Document): Document {
  const written: Document = {};
  for (const field of Object.keys(fields)) {
    const value = values[field] === undefined ? before[field] : values[field];
    if (value != null) written[field] = value;
  }
  return written;
}

const sameValue = (current: unknown, value: unknown): boolean =>
  current instanceof Date && value instanceof Date
    ? current.getTime() === value.getTime()
    : (current ?? null) === value;
