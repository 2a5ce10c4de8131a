import type { Document, UpdateFilter } from 'mongodb';
import type { Version } from './collection.ts';

/**
 * Where updates leave a copy of all that clients can see of the record: a change stream tells of an update only what it
 * has set, and the document as it was then only on servers that were told to keep it.
 */
export const SNAPSHOT = 'written';

/** Fields of an earlier layout: an update takes them away, and until then nobody looks at them. */
const FORMER_FIELDS = ['openOrders', 'pets', 'heldAt'];

/**
 * The update that gives the document these values (null removes one, undefined leaves it) and a new version;
 * null if it has them already, so that a patch that changes nothing writes nothing.
 *
 * @param fields those of the record that clients see
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
