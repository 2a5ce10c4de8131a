import type { Filter } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import { lruCache } from '../../foundation/lru.ts';
import type { AccessStore, Charge, ChargeResult, UsageState } from '../store.ts';
import { chargeUsage, DAY, initialUsage, MINUTE, withTimes } from '../usage.ts';
import { gather } from './batching.ts';
import { type CollectionDefinition, DATE, NUMBER, objectSchema, plain, STRING } from './collection.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';

export interface UsageDocument extends UsageState {
  _id: string;
  /** When nothing in the document matters any more. */
  forgetAt: Date;
  outcome?: string;
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
    // The outcome of the last charge, in documents of an earlier layout.
    'outcome?': { enum: ['passed', 'refused', 'banned'] },
    forgetAt: DATE,
  }),
  indexes: [{ key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
};

/** How long usage is kept after it last mattered: bans double within a day of the previous one. */
const RETENTION = DAY;
/** Number of recently refused keys whose state is cached. */
const MAX_CACHED = 10_000;

/**
 * Usage of the keys. Limits are exact however many instances charge at once, because every charge is a
 * conditional atomic update. An instance has at most one update in progress per key; charges that arrive
 * meanwhile are batched in order.
 */
export function mongoUsage(database: Database) {
  const { db, options, serverClock, timeoutMs } = database;
  const usage = db.collection<UsageDocument>(usageCollection.name);
  /** Last known states. Guessing from them saves a read, since the update verifies the guess. */
  const refused = lruCache<UsageState>(MAX_CACHED);

  const chargeTogether = gather(chargeBatch, timeoutMs);

  /** @returns the results as if charged one after the other */
  async function chargeBatch(id: string, charges: readonly Charge[]): Promise<ChargeResult[]> {
    const offset = serverClock.offset();
    const byServer =
      offset === 0 ? charges : charges.map((charge) => ({ ...charge, now: charge.now + offset }));
    const results = (await chargeOpenWindows(id, byServer)) ?? (await chargeByRules(id, byServer));
    return results.map(({ outcome, usage }) => ({ outcome, usage: shifted(usage, -offset) }));
  }

  /**
   * The common case: both windows are open with enough left for all charges. Then this conditional update is
   * equivalent to `chargeUsage`.
   *
   * @returns null in any other case
   */
  async function chargeOpenWindows(id: string, charges: readonly Charge[]): Promise<ChargeResult[] | null> {
    if (refused.has(id)) return null;
    const cost = charges.reduce((sum, charge) => sum + charge.cost, 0);
    const times = charges.map(({ now }) => now);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const perMinute = Math.min(...charges.map(({ limits }) => limits.perMinute));
    const perDay = Math.min(...charges.map(({ limits }) => limits.perDay));
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

  /**
   * The general case: `chargeUsage` applied to the last known state, written on condition that the state is
   * unchanged.
   */
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
      // After a clock was set back, even a charge of 0 changes the state. Otherwise each one would restart a
      // ban.
      const isNothing = before ? Object.keys(changes).length === 0 : !charges.some(({ cost }) => cost > 0);
      // If nothing needs writing, no condition verifies a guess, so the state must be read.
      const isDone = isNothing ? guess === undefined : await write(id, before, changes, forgetAt(state, now));
      if (isDone) {
        if (before && results.at(-1)!.outcome !== 'passed') refused.set(id, state);
        return results;
      }
      guess = undefined;
    } while (performance.now() < deadline);
    throw unavailable(new Error(`The usage of ${id} changes too fast.`));
  }

  async function read(id: string): Promise<UsageState | undefined> {
    const document = await usage.findOne({ _id: id }, options);
    return document ? toUsage(document) : undefined;
  }

  /** @returns false if the state is not the one before any more */
  async function write(
    id: string,
    before: UsageState | undefined,
    changes: Partial<UsageState>,
    forgetAt: Date,
  ): Promise<boolean> {
    if (before) {
      const unchanged: Filter<UsageDocument> = { _id: id, ...before };
      const update = { $set: changes, $max: { forgetAt } };
      return (await usage.updateOne(unchanged, update, options)).matchedCount > 0;
    }
    try {
      await usage.insertOne({ _id: id, ...(changes as UsageState), forgetAt }, options);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /**
   * Based on the server's clock, because the server removes the document. In whole days, so that the indexed
   * date rarely changes.
   */
  function forgetAt({ dayStart, refusedUntil, bannedUntil }: UsageState, now: number): Date {
    const counts = Math.max(0, dayStart + DAY - now, refusedUntil - now, bannedUntil - now);
    return new Date(Math.ceil((serverClock.now() + counts + RETENTION) / DAY) * DAY);
  }

  return {
    charge: (charge) => chargeTogether(charge.apiKeyId, charge),

    async usage(ids) {
      const wanted = [...new Set(ids)];
      if (wanted.length === 0) return [];
      const documents = await usage
        .find({ _id: { $in: wanted } }, { ...options, batchSize: wanted.length + 1 })
        .toArray();
      const offset = serverClock.offset();
      const states = new Map(
        documents.map((document) => [document._id, shifted(toUsage(document), -offset)]),
      );
      return ids.map((id) => states.get(id) ?? null);
    },
  } satisfies Pick<AccessStore, 'charge' | 'usage'>;
}

/** The state in a usage document. An earlier layout stored int64, and the outcome of the last charge. */
export const toUsage = ({ _id, forgetAt, outcome, ...state }: UsageDocument): UsageState =>
  plain(state) as UsageState;

/** Shifts all times of a state; 0 means none. */
const shifted = (usage: UsageState, by: number): UsageState =>
  by === 0 ? usage : withTimes(usage, (time) => (time === 0 ? 0 : time + by));

/** The fields to set to get from one state to the other. */
function changesOf(before: UsageState, after: UsageState): Partial<UsageState> {
  const names = Object.keys(before) as (keyof UsageState)[];
  const differs = (name: keyof UsageState) =>
    name === 'strikes' ? before.strikes.join() !== after.strikes.join() : before[name] !== after[name];
  return Object.fromEntries(names.filter(differs).map((name) => [name, after[name]]));
}
