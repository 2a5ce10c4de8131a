import type { Database } from './database.ts';
import { createDeletions } from './deletions.ts';
import { createHoldDocuments } from './hold-documents.ts';
import { createInstanceHolds } from './instance-holds.ts';

export type Holds = ReturnType<typeof createHolds>;

/**
 * A pet names its category, an incomplete order its pet. Nobody who refers to a parent writes the parent, so that no
 * instance can hold up another one. Instead:
 *
 * - Who is going to refer to a parent takes a *hold* on it (H), then looks whether it exists (V), writes the child (I),
 *   and gives the hold back when it is known what came of that (R). If H meets a deleter, nothing is written.
 * - Who is going to delete a parent marks it as *closing* (M), waits until the holds that M met are given back, looks for
 *   children (C), and deletes (D) if there are none; else it opens the parent again (Z).
 *
 * H and M are atomic updates of one document, so that one of them is first. If it is H, then M meets the hold, and C comes
 * after R and with it after I: it sees the child. If it is M, then H meets the mark, unless that was removed, which is after D;
 * then V comes after D too and finds no parent.
 *
 * Whoever dies leaves a hold or a mark behind, which counts for a while only, by the clock of the server: a hold for
 * `HOLD_LIFE`, much longer than I can come after H; a mark for `MARK_LIFE`, and D carries a condition that lets the server
 * refuse it before that is over. `test/store/mongo/holds.model.test.ts` goes through all the ways in which this can run.
 */
export function createHolds(database: Database) {
  const documents = createHoldDocuments(database);
  const taken = createInstanceHolds(database, documents);
  const { hold, close } = taken;
  const { prepare, deleteUnreferenced } = createDeletions(database, documents, taken);
  return { prepare, hold, deleteUnreferenced, close };
}
