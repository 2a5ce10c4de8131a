import type { Collection, Filter } from 'mongodb';
import type { CategoryDocument, Key, PetDocument } from './collections.ts';
import type { Database, Unit } from './database.ts';

/**
 * Who names whom is counted on the document that is named: a category counts its pets, a pet the incomplete orders
 * for it. Whoever adds a reference writes the parent first, and a parent is deleted only while its count is 0, so the
 * two meet on one document and one of them loses, with or without a transaction.
 *
 * In a transaction the counts are exact. On a standalone server a count is raised before the reference is written and
 * lowered after it is gone, so whatever fails in between leaves it too high, never too low.
 */
interface Parents {
  categories: { document: CategoryDocument; count: 'pets' };
  pets: { document: PetDocument; count: 'openOrders' };
}

const COUNTS = { categories: 'pets', pets: 'openOrders' } as const;

/** Both kinds of parents have the fields that this file works with. */
type Parent = { _id: Key; version: number | bigint; pets?: number; openOrders?: number; heldAt?: Date };

const parentsOf = ({ collections }: Database, kind: keyof Parents) =>
  collections[kind] as unknown as Collection<Parent>;

/**
 * Adds a reference to the parent, which can't be deleted from now on.
 *
 * @returns whether there is such a parent
 */
export async function hold(database: Database, unit: Unit, kind: keyof Parents, key: Key): Promise<boolean> {
  const parents = parentsOf(database, kind);
  await unit.turn(`${kind}/${key}`);
  const { matchedCount } = await parents.updateOne(
    { _id: key },
    { $inc: { [COUNTS[kind]]: 1 }, $currentDate: { heldAt: true } },
    unit.options,
  );
  if (matchedCount === 0) return false;
  unit.undo(() => parents.updateOne({ _id: key }, { $inc: { [COUNTS[kind]]: -1 } }, unit.options));
  return true;
}

/** Goes before the write that removes a reference: nobody distrusts the count between that and its `release`. */
export async function announceRelease(
  database: Database,
  unit: Unit,
  kind: keyof Parents,
  key: Key,
): Promise<void> {
  await unit.turn(`${kind}/${key}`);
  if (unit.session) return;
  await parentsOf(database, kind).updateOne({ _id: key }, { $currentDate: { heldAt: true } }, unit.options);
}

/** Takes back a reference, after the write that removed it. */
export async function release(database: Database, unit: Unit, kind: keyof Parents, key: Key): Promise<void> {
  const lowered = parentsOf(database, kind).updateOne(
    { _id: key },
    { $inc: { [COUNTS[kind]]: -1 } },
    unit.options,
  );
  // Without a transaction the operation is done by now and can't be reported as failed.
  await (unit.session ? lowered : lowered.catch(() => {}));
}

/**
 * The filter that deletes exactly this parent as it was read, if nothing refers to it.
 *
 * @returns null if something does
 */
export async function unusedParent<K extends keyof Parents>(
  database: Database,
  unit: Unit,
  kind: K,
  parent: Parents[K]['document'],
): Promise<Filter<Parents[K]['document']> | null> {
  const { _id, version, heldAt } = parent;
  const count = (parent as Parent)[COUNTS[kind]] ?? 0;
  const unchanged = { _id, version, [COUNTS[kind]]: count } as Filter<Parents[K]['document']>;
  if (count === 0) return unchanged;

  const { collections } = database;
  const referrer =
    kind === 'categories'
      ? await collections.pets.findOne({ categoryId: _id }, { ...unit.options, projection: { _id: 1 } })
      : await collections.orders.findOne(
          { petId: _id, complete: false },
          { ...unit.options, projection: { _id: 1 } },
        );
  if (referrer) return null;

  // The count is too high: a standalone server or its client failed between two writes, or the second one is still to
  // come. Only a count that has been still for longer than that takes can be overruled, and only as it was read.
  if (unit.session) return unchanged;
  if (heldAt === undefined || (await serverTime(database)) - heldAt.getTime() < database.settleMs)
    return null;
  return { ...unchanged, heldAt };
}

/** By the clock that also sets `heldAt`: those of several instances may differ. */
async function serverTime({ collections, options }: Database): Promise<number> {
  const [answer] = await collections.counters
    .aggregate<{ now: Date }>([{ $limit: 1 }, { $project: { now: '$$NOW' } }], options)
    .toArray();
  return answer?.now.getTime() ?? 0;
}
