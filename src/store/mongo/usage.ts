import { LRUCache } from 'lru-cache';
import type { Filter } from 'mongodb';
import { chargeUsage, DAY, initialUsage, MINUTE } from '../../access/usage.ts';
import { unavailable } from '../../errors.ts';
import type { AccessStore, Charge, ChargeResult, UsageState } from '../store.ts';
import { type CollectionDefinition, DATE, NUMBER, objectSchema, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';

interface UsageDocument extends UsageState {
  _id: string;
  /** When nothing of the document counts any more. */
  forgetAt: Date;
}

export const usageCollection: CollectionDefinition = {
  name: 'usage',
  schema: objectSchema({
    _id: STRING,
    minuteStart: NUMBER,
    minuteUsed: NUMBER,
    dayStart: NUMBER,
    dayUsed: NUMBER,
    refusedUntil: NUMBER,
    strikes: { bsonType: 'array', items: NUMBER },
    bannedUntil: NUMBER,
    bans: NUMBER,
    // The decision of the last charge, in documents of an earlier layout.
    'outcome?': { enum: ['passed', 'refused', 'banned'] },
    forgetAt: DATE,
  }),
  indexes: [{ key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
};

/** Use is kept for this long after anything of it has counted: a ban is doubled within a day after the one before. */
const RETENTION = DAY;
/** The states of this many keys that were refused last are remembered. */
const MAX_REMEMBERED = 10_000;

/** A charge that waits for its turn. */
interface Waiting {
  charge: Charge;
  resolve(result: ChargeResult): void;
  reject(error: unknown): void;
}

/**
 * The use of the keys. Never more than the limit passes, however many instances charge at once: each charge is one
 * atomic update under a condition. Of a key, an instance has one update under way at a time; what comes in the meantime
 * is charged together, each in the order in which it came.
 */
export function mongoUsage(database: Database) {
  const { db, options, serverClock, timeoutMs } = database;
  const usage = db.collection<UsageDocument>(usageCollection.name);
  const queues = new Map<string, Waiting[]>();
  /** As they were last seen: a guess that saves a read, since the update tells whether it holds. */
  const refused = new LRUCache<string, UsageState>({ max: MAX_REMEMBERED });

  async function serve(id: string, waiting: Waiting[]): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting.splice(0);
      try {
        const results = await chargeBatch(
          id,
          group.map(({ charge }) => charge),
        );
        for (const [i, { resolve }] of group.entries()) resolve(results[i]!);
      } catch (error) {
        // Those who came since would only wait for the same database, and be charged after they were given up.
        for (const { reject } of [...group, ...waiting.splice(0)]) reject(error);
      }
    }
    queues.delete(id);
  }

  /** @returns the result of each, as if they had been charged one after the other */
  async function chargeBatch(id: string, charges: readonly Charge[]): Promise<ChargeResult[]> {
    const ahead = serverClock.offset();
    const byServer = ahead === 0 ? charges : charges.map((one) => ({ ...one, now: one.now + ahead }));
    const results = (await chargeOpenWindows(id, byServer)) ?? (await chargeByRules(id, byServer));
    return ahead === 0
      ? results
      : results.map(({ outcome, usage }) => ({ outcome, usage: shifted(usage, -ahead) }));
  }

  /**
   * Nearly every charge: both windows are open and hold enough for all. Where that is so, these conditions and this update
   * are what `chargeUsage` does.
   *
   * @returns null if it isn't so
   */
  async function chargeOpenWindows(id: string, charges: readonly Charge[]): Promise<ChargeResult[] | null> {
    if (refused.has(id)) return null;
    let [cost, first, last] = [0, Number.POSITIVE_INFINITY, 0];
    let [perMinute, perDay] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (const { cost: own, now, limits } of charges) {
      cost += own;
      first = Math.min(first, now);
      last = Math.max(last, now);
      perMinute = Math.min(perMinute, limits.perMinute);
      perDay = Math.min(perDay, limits.perDay);
    }
    if (cost === 0) return null;
    const charged = await usage.findOneAndUpdate(
      {
        _id: id,
        bannedUntil: { $lte: first },
        minuteStart: { $gt: last - MINUTE, $lte: first },
        minuteUsed: { $lte: perMinute - cost },
        dayStart: { $gt: last - DAY, $lte: first },
        dayUsed: { $lte: perDay - cost },
      },
      { $inc: { minuteUsed: cost, dayUsed: cost } },
      { ...options, returnDocument: 'after' },
    );
    if (!charged) return null;
    const after = toUsage(charged);
    if (charges.length === 1) return [{ outcome: 'passed', usage: after }];
    let later = cost;
    return charges.map(({ cost: own }) => {
      later -= own;
      return {
        outcome: 'passed',
        usage: { ...after, minuteUsed: after.minuteUsed - later, dayUsed: after.dayUsed - later },
      };
    });
  }

  /** Any charge: `chargeUsage` itself, on the state as it was last seen, and under the condition that it is still the same. */
  async function chargeByRules(id: string, charges: readonly Charge[]): Promise<ChargeResult[]> {
    const deadline = performance.now() + timeoutMs;
    const { now } = charges.at(-1)!;
    let guess = refused.get(id);
    refused.delete(id);
    do {
      const before = guess ?? (await read(id));
      let state = before ?? initialUsage();
      const results = charges.map((charge) => {
        const result = chargeUsage(state, charge);
        state = result.usage;
        return result;
      });
      const changes = before ? changesOf(before, state) : state;
      // Where a clock was set back, even a charge of nothing changes the state: else a ban would begin anew with each.
      const isNothing = before ? Object.keys(changes).length === 0 : !charges.some(({ cost }) => cost > 0);
      // A guess that nothing has to be written for must be looked at, since no condition tells whether it holds.
      const isDone = isNothing
        ? guess === undefined
        : await (before ? replace(id, before, changes, forgetAt(state, now)) : insert(id, state, now));
      if (isDone) {
        if (before && results.at(-1)!.outcome !== 'passed') refused.set(id, state);
        return results;
      }
      guess = undefined;
    } while (performance.now() < deadline);
    throw unavailable(new Error(`The use of ${id} changes too fast.`));
  }

  async function read(id: string): Promise<UsageState | undefined> {
    const found = await usage.findOne({ _id: id }, options);
    return found ? toUsage(found) : undefined;
  }

  /** @returns false if there is a document by now */
  async function insert(id: string, state: UsageState, now: number): Promise<boolean> {
    try {
      await usage.insertOne({ _id: id, ...state, forgetAt: forgetAt(state, now) }, options);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** @returns false if the state is another one by now */
  async function replace(
    id: string,
    before: UsageState,
    changes: Partial<UsageState>,
    forgetAt: Date,
  ): Promise<boolean> {
    const same: Filter<UsageDocument> = { _id: id, ...before };
    const { matchedCount } = await usage.updateOne(same, { $set: changes, $max: { forgetAt } }, options);
    return matchedCount > 0;
  }

  /** Counted from the server's clock as it is, because it is the server that forgets; in whole days, so that the indexed date seldom moves. */
  function forgetAt({ dayStart, refusedUntil, bannedUntil }: UsageState, now: number): Date {
    const counts = Math.max(0, dayStart + DAY - now, refusedUntil - now, bannedUntil - now);
    return new Date(Math.ceil((serverClock.now() + counts + RETENTION) / DAY) * DAY);
  }

  return {
    charge: (charge) =>
      new Promise<ChargeResult>((resolve, reject) => {
        const one = { charge, resolve, reject };
        const waiting = queues.get(charge.apiKeyId);
        if (waiting) {
          waiting.push(one);
          return;
        }
        const first = [one];
        queues.set(charge.apiKeyId, first);
        // Whatever else is read from the network in this turn of the event loop is charged along with it.
        setImmediate(() => void serve(charge.apiKeyId, first));
      }),

    async usage(ids) {
      const wanted = [...new Set(ids)];
      if (wanted.length === 0) return [];
      const found = await usage
        .find({ _id: { $in: wanted } }, { ...options, batchSize: wanted.length + 1 })
        .toArray();
      const ahead = serverClock.offset();
      const states = new Map(found.map((document) => [document._id, shifted(toUsage(document), -ahead)]));
      return ids.map((id) => states.get(id) ?? null);
    },
  } satisfies Pick<AccessStore, 'charge' | 'usage'>;
}

/** The state of a usage document; Number because an earlier layout kept some as int64. */
const toUsage = (usage: UsageDocument): UsageState => ({
  minuteStart: Number(usage.minuteStart),
  minuteUsed: Number(usage.minuteUsed),
  dayStart: Number(usage.dayStart),
  dayUsed: Number(usage.dayUsed),
  refusedUntil: Number(usage.refusedUntil),
  strikes: usage.strikes.map(Number),
  bannedUntil: Number(usage.bannedUntil),
  bans: Number(usage.bans),
});

/** The same state by a clock that is so many milliseconds ahead; 0 is no time. */
function shifted(usage: UsageState, by: number): UsageState {
  if (by === 0) return usage;
  const shift = (time: number) => (time === 0 ? 0 : time + by);
  return {
    ...usage,
    minuteStart: shift(usage.minuteStart),
    dayStart: shift(usage.dayStart),
    refusedUntil: shift(usage.refusedUntil),
    strikes: usage.strikes.map(shift),
    bannedUntil: shift(usage.bannedUntil),
  };
}

/** What must be set to make the one state the other. */
function changesOf(before: UsageState, after: UsageState): Partial<UsageState> {
  const names = Object.keys(before) as (keyof UsageState)[];
  const differs = (name: keyof UsageState) =>
    name === 'strikes' ? before.strikes.join() !== after.strikes.join() : before[name] !== after[name];
  return Object.fromEntries(names.filter(differs).map((name) => [name, after[name]]));
}
