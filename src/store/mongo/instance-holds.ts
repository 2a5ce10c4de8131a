import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../../foundation/errors.ts';
import type { Attempt } from './attempts.ts';
import { batch } from './batching.ts';
import type { Key } from './collection.ts';
import type { Database } from './database.ts';
import { HOLD_TTL, type HoldDocuments } from './hold-documents.ts';

/** How long an instance shares one hold between its writes, in milliseconds. */
const HOLD_REUSE_TIME = 1_000;
/** How long to wait while a deleter is active, in milliseconds. */
const PAUSE = 40;

type HoldState = 'held' | 'closing' | 'missing';

/** A hold acquired by this instance. */
interface Hold {
  id: string;
  /** Number of writes that rely on it. */
  uses: number;
  /** Whether it is closed to further writes. */
  isRetired: boolean;
  state: Promise<HoldState>;
  /** Called when the last write relying on it is done. */
  onUnused: (() => void)[];
}

export type InstanceHolds = ReturnType<typeof createInstanceHolds>;

/** The holds of this instance. The letters refer to `holds.ts`. */
export function createInstanceHolds({ db, options }: Database, documents: HoldDocuments) {
  const instance = randomBytes(6).toString('hex');
  /** Holds open to further writes, by parent. */
  const holds = new Map<string, Hold>();
  /** Holds that writes rely on or may still rely on, by id. */
  const inUse = new Map<string, Hold>();
  let taken = 0;

  /** By collection, checks whether a document exists. */
  const existenceChecks = new Map<string, (key: Key) => Promise<boolean>>();

  function exists(kind: string, key: Key): Promise<boolean> {
    let look = existenceChecks.get(kind);
    if (!look) {
      look = existenceCheck(kind);
      existenceChecks.set(kind, look);
    }
    return look(key);
  }

  function existenceCheck(kind: string) {
    return batch<Key, boolean>(async (keys) => {
      const documents = await db
        .collection<{ _id: Key }>(kind)
        .find({ _id: { $in: [...new Set(keys)] } }, { ...options, projection: { _id: 1 }, batchSize: 1_001 })
        .toArray();
      const there = new Set(documents.map(({ _id }) => String(_id)));
      return keys.map((key) => there.has(String(key)));
    });
  }

  const newId = (): string => `${instance}${++taken}`;

  /** R. If the database is away, the hold stays until it expires. */
  const release = (name: string, { id }: Hold): Promise<void> => documents.release(name, id).catch(() => {});

  /** H and V. */
  async function stateOf(name: string, id: string, kind: string, key: Key): Promise<HoldState> {
    if (await documents.acquire(name, id)) return 'closing';
    return (await exists(kind, key)) ? 'held' : 'missing';
  }

  function acquire(name: string, kind: string, key: Key): Hold {
    const id = newId();
    const hold: Hold = { id, uses: 0, isRetired: false, state: stateOf(name, id, kind, key), onUnused: [] };
    holds.set(name, hold);
    inUse.set(hold.id, hold);
    setTimeout(() => retire(name, hold), HOLD_REUSE_TIME).unref();
    hold.state.then(
      (state) => state !== 'held' && retire(name, hold),
      () => retire(name, hold),
    );
    return hold;
  }

  /** Closes the hold to further writes, and releases it once none relies on it. */
  function retire(name: string, hold: Hold): void {
    if (hold.isRetired) return;
    hold.isRetired = true;
    if (holds.get(name) === hold) holds.delete(name);
    if (hold.uses === 0) finish(name, hold);
    // A write whose outcome is unknown relies on the hold until it expires, so it is never released.
    else setTimeout(() => inUse.delete(hold.id), HOLD_TTL).unref();
  }

  function stopUsing(name: string, hold: Hold): void {
    hold.uses -= 1;
    if (hold.uses === 0 && hold.isRetired) finish(name, hold);
  }

  function finish(name: string, hold: Hold): void {
    inUse.delete(hold.id);
    for (const tell of hold.onUnused) tell();
    void release(name, hold);
  }

  return {
    newId,

    isOwn: (id: string): boolean => id.startsWith(instance),

    /** Closes the hold to further writes. Resolves when none relies on it. */
    async whenUnused(name: string, id: string): Promise<void> {
      const hold = inUse.get(id);
      if (!hold) return;
      retire(name, hold);
      if (hold.uses > 0) await new Promise<void>((resolve) => hold.onUnused.push(resolve));
    },

    /**
     * Protects a parent from deletion until the attempt is settled.
     *
     * @param kind the parent's collection
     * @returns whether the parent exists
     */
    async hold(kind: string, key: Key, attempt: Attempt): Promise<boolean> {
      const name = `${kind}/${key}`;
      // Only this transaction knows that it has created or deleted it.
      if (attempt.written.has(name)) {
        const own = db.collection<{ _id: Key }>(kind);
        return (await own.findOne({ _id: key }, { ...attempt.options, projection: { _id: 1 } })) !== null;
      }
      for (;;) {
        const hold = holds.get(name) ?? acquire(name, kind, key);
        hold.uses += 1;
        let state: Awaited<Hold['state']> | undefined;
        try {
          state = await hold.state;
        } finally {
          if (state !== 'held') stopUsing(name, hold);
        }
        if (state === 'held') {
          attempt.onSettled.push(() => stopUsing(name, hold));
          // Write nothing if the call has timed out or the hold may have expired.
          if (performance.now() > attempt.deadline) throw unavailable();
          return true;
        }
        if (state === 'missing') return false;
        if (performance.now() > attempt.deadline) throw unavailable();
        await sleep(PAUSE);
      }
    },

    /** Releases all holds that no write relies on. */
    async close(): Promise<void> {
      const unused = [...holds].filter(([, { uses }]) => uses === 0);
      for (const [, hold] of holds) hold.isRetired = true;
      holds.clear();
      await Promise.all(unused.map(([name, hold]) => release(name, hold)));
    },
  };
}
