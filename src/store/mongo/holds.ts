import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Document } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import type { Attempt } from './attempts.ts';
import { gather } from './batching.ts';
import { exists, type Key } from './collection.ts';
import type { Database } from './database.ts';
import { WriteConflict } from './errors.ts';
import { type createHoldDocuments, HOLD_TTL, type Mark } from './hold-documents.ts';

/** How long an instance shares one hold between its writes, in milliseconds. */
const HOLD_REUSE_TIME = 1_000;
/** How long to wait before looking again while a deleter or holder is active, in milliseconds. */
const PAUSE = 40;
/** How long a deleter waits for the holds of others, in milliseconds. */
const DELETER_TIMEOUT = 1_500;
/**
 * How long after M the server accepts D. The difference to the TTL of a mark allows for clock differences
 * between servers.
 */
const DELETE_WITHIN = 2_000;
/** A transaction with D must be committed earlier, because the server cannot refuse a late commit. */
const COMMIT_WITHIN = 1_500;

/** A hold acquired by this instance. */
interface Hold {
  id: string;
  /** The parent, such as `categories/7`. */
  name: string;
  /** Number of writes that rely on it. */
  uses: number;
  /** Whether it is closed to further writes. */
  isRetired: boolean;
  state: Promise<'held' | 'closing' | 'missing'>;
}

/** How to delete a parent. */
export interface Deletion {
  /** The collections of its children, each with a filter for those that hold off the deletion. */
  referrers: readonly { collection: string; filter: Document }[];
  /** Deletes the parent under an additional condition. @returns whether it was still there unchanged */
  remove(condition: { $expr: Document }): Promise<boolean>;
}

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
export function createHolds(
  { db, options, timeoutMs }: Database,
  documents: ReturnType<typeof createHoldDocuments>,
) {
  const instance = randomBytes(6).toString('hex');
  let acquired = 0;
  const newId = (): string => `${instance}${++acquired}`;
  /** Holds open to further writes, by parent. */
  const open = new Map<string, Hold>();
  /** Holds that writes rely on or may still rely on, by id. */
  const inUse = new Map<string, Hold>();

  const collectionOf = (kind: string) => db.collection<{ _id: Key }>(kind);

  /** V, together for the parents of a kind. */
  const verify = gather<Key, boolean>(async (kind, keys) => {
    const one = { ...options, projection: { _id: 1 }, batchSize: keys.length + 1 };
    const parents = await collectionOf(kind)
      .find({ _id: { $in: [...new Set(keys)] } }, one)
      .toArray();
    const present = new Set(parents.map(({ _id }) => _id));
    return keys.map((key) => present.has(key));
  }, timeoutMs);

  /** H and V. */
  function acquire(name: string, kind: string, key: Key): Hold {
    const id = newId();
    const stateOf = async () => {
      if (await documents.acquire(name, id)) return 'closing';
      return (await verify(kind, key)) ? 'held' : 'missing';
    };
    const hold: Hold = { id, name, uses: 0, isRetired: false, state: stateOf() };
    open.set(name, hold);
    inUse.set(id, hold);
    setTimeout(() => retire(hold), HOLD_REUSE_TIME).unref();
    hold.state.then(
      (state) => state !== 'held' && retire(hold),
      () => retire(hold),
    );
    return hold;
  }

  /** Closes a hold to further writes, and releases it once none relies on it. */
  function retire(hold: Hold): void {
    if (hold.isRetired) return;
    hold.isRetired = true;
    if (open.get(hold.name) === hold) open.delete(hold.name);
    if (hold.uses === 0) void release(hold);
    // A write whose outcome is unknown relies on the hold until it expires, so it is never released.
    else setTimeout(() => inUse.delete(hold.id), HOLD_TTL).unref();
  }

  function stopUsing(hold: Hold): void {
    hold.uses -= 1;
    if (hold.uses === 0 && hold.isRetired) void release(hold);
  }

  /** R. If the database is away, the hold stays until it expires. */
  async function release({ id, name }: Hold): Promise<void> {
    inUse.delete(id);
    await documents.release(name, id).catch(() => {});
  }

  /** M. @throws WriteConflict while another deleter is active */
  async function markClosing(name: string): Promise<Mark> {
    const mark = await documents.mark(name, newId());
    if (mark) return mark;
    const other = await documents.markOf(name);
    // Its deleter is dead or too late.
    if (other?.isExpired) await documents.removeMark(name, other.by);
    else if (other) await sleep(PAUSE);
    throw new WriteConflict();
  }

  /** Waits, up to a limit, until the holds seen by M are released. @returns whether they are */
  async function awaitRelease(name: string, { holders, at: markedAt }: Mark): Promise<boolean> {
    const own: string[] = [];
    let others: string[] = [];
    for (const [id, at] of Object.entries(holders))
      if (markedAt.getTime() - at.getTime() < HOLD_TTL) (id.startsWith(instance) ? own : others).push(id);
    for (const id of own) if (inUse.has(id)) retire(inUse.get(id)!);
    for (const deadline = performance.now() + DELETER_TIMEOUT; ; await sleep(PAUSE)) {
      if (others.length > 0) {
        const left = await documents.holdersOf(name);
        others = others.filter((id) => left[id]);
      }
      if (others.length === 0 && !own.some((id) => inUse.has(id))) return true;
      if (performance.now() > deadline) return false;
    }
  }

  /** C. @returns the index of the first referrer with a child; -1 if there is none */
  async function findReferrer({ referrers }: Deletion, attempt: Attempt): Promise<number> {
    for (const [i, { collection, filter }] of referrers.entries())
      if (await isReferenced(collection, filter, attempt)) return i;
    return -1;
  }

  /** Reads the transaction's own writes inside it and everything else outside it, as of now. */
  async function isReferenced(referrer: string, filter: Document, attempt: Attempt): Promise<boolean> {
    const own: Key[] = [];
    for (const name of attempt.session ? attempt.written : []) {
      const [collection, key] = name.split('/') as [string, string];
      if (collection === referrer) own.push(BigInt(key));
    }
    const children = collectionOf(referrer);
    if (own.length === 0) return await exists(children, filter, options);
    return (
      (await exists(children, { ...filter, _id: { $nin: own } }, options)) ||
      (await exists(children, { ...filter, _id: { $in: own } }, attempt.options))
    );
  }

  return {
    /**
     * Protects a parent from deletion until the attempt is settled.
     *
     * @param kind the parent's collection
     * @returns whether the parent exists
     */
    async hold(kind: string, key: Key, attempt: Attempt): Promise<boolean> {
      const name = `${kind}/${key}`;
      // Only this transaction knows that it has created or deleted it.
      if (attempt.written.has(name)) return await exists(collectionOf(kind), { _id: key }, attempt.options);
      for (;;) {
        const hold = open.get(name) ?? acquire(name, kind, key);
        hold.uses += 1;
        const state = await hold.state.catch((error) => {
          stopUsing(hold);
          throw error;
        });
        if (state === 'held') attempt.onSettled.push(() => stopUsing(hold));
        else stopUsing(hold);
        if (state === 'missing') return false;
        // Write nothing if the call has timed out or the hold may have expired.
        if (performance.now() > attempt.deadline) throw unavailable();
        if (state === 'held') return true;
        await sleep(PAUSE);
      }
    },

    /**
     * Deletes a parent that nothing refers to.
     *
     * @returns undefined if it was deleted; otherwise the index of a referrer that refers to it or is about to
     */
    async deleteUnreferenced(
      kind: string,
      key: Key,
      attempt: Attempt,
      parent: Deletion,
    ): Promise<number | undefined> {
      const name = `${kind}/${key}`;
      const referrer = await findReferrer(parent, attempt);
      if (referrer >= 0) return referrer;
      const sentAt = performance.now();
      const mark = await markClosing(name);
      const reopen = () => documents.removeMark(name, mark.by).catch(() => {});
      if (attempt.session) {
        attempt.deadline = Math.min(attempt.deadline, sentAt + COMMIT_WITHIN);
        attempt.onSettled.push(reopen);
      }
      attempt.written.add(name);
      let isKnown = true;
      try {
        if (!(await awaitRelease(name, mark))) return 0;
        const late = await findReferrer(parent, attempt);
        if (late >= 0) return late;
        if (performance.now() > sentAt + DELETE_WITHIN) throw new WriteConflict();
        const until = mark.at.getTime() + DELETE_WITHIN;
        isKnown = false;
        const isRemoved = await parent.remove({ $expr: { $lt: [{ $toLong: '$$NOW' }, until] } });
        isKnown = true;
        if (!isRemoved) throw new WriteConflict();
        return undefined;
      } finally {
        // If D got no response, the mark stays until the server can no longer carry it out.
        if (!attempt.session && isKnown) await reopen();
      }
    },

    /** Releases all holds that no write relies on. */
    async close(): Promise<void> {
      const unused = [...open.values()].filter(({ uses }) => uses === 0);
      for (const hold of open.values()) hold.isRetired = true;
      open.clear();
      await Promise.all(unused.map(release));
    },
  };
}
