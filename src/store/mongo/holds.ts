import type { Database } from './database.ts';
import { createDeletions } from './deletions.ts';
import { createHoldDocuments } from './hold-documents.ts';
import { createInstanceHolds } from './instance-holds.ts';

export type Holds = ReturnType<typeof createHolds>;

/**
 * Protects parents from deletion while children are being added, by holds as in ZFS or Cloud Storage. A pet
 * refers to its category and an incomplete order to its pet. Adding a child never writes the parent, so that
 * instances cannot block one another. Instead:
 *
 * - Whoever adds a child acquires a *hold* on the parent (H), verifies that the parent exists (V), inserts
 *   the child (I), and releases the hold once the outcome is known (R). If H finds a mark, nothing is
 *   written.
 * - Whoever deletes a parent *marks* it as closing (M), waits for the release of the holds that M found,
 *   checks for children (C), and deletes the parent if there are none (D). Otherwise it removes the mark (Z).
 *
 * H and M are atomic updates of one document, so one comes first. If it is H, then M finds the hold, and C
 * comes after R and therefore after I: it sees the child. If it is M, then H finds the mark, unless it has
 * been removed, which happens after D. In that case V comes after D too and finds no parent.
 *
 * A process that dies leaves a hold or mark behind, which expires by the server's clock. `HOLD_TTL` is much
 * longer than the possible time from H to I. D carries a condition that makes the server refuse it before
 * `MARK_TTL` has passed. `test/store/mongo/holds.model.test.ts` explores all interleavings.
 */
export function createHolds(database: Database) {
  const documents = createHoldDocuments(database);
  const taken = createInstanceHolds(database, documents);
  const { hold, close } = taken;
  const { deleteUnreferenced } = createDeletions(database, documents, taken);
  return { hold, deleteUnreferenced, close };
}
