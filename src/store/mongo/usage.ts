import type { Filter } from 'mongodb';
import { unavailable } from '../../foundation/errors.ts';
import type {
  AccessStore,
  Charge,
  ChargeResult,
  UsageHistoryStore,
  UsageOperation,
  UsageRow,
  UsageState,
} from '../store.ts';
import { chargeUsage, DAY, HISTORY_KEPT, initialUsage, MINUTE } from '../usage.ts';
import { apiKeysCollection } from './api-keys.ts';
import { gather } from './batching.ts';
import { type CollectionDefinition, plain, type StoredDocument, touch } from './collection.ts';
import type { CallOptions, Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import type { Together } from './transactions.ts';

export interface UsageDocument extends UsageState {
  _id: string;
  /** When nothing in the document matters any more. */
  forgetAt: Date;
}

export const usageCollection: CollectionDefinition = {
  name: 'usage',
  indexes: [{ key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
};

/** How long usage is kept after it last mattered: bans double within a day of the previous one. */
const RETENTION = DAY;

/**
 * Usage of the keys. Limits are exact however many instances charge at once, because every charge is a
 * conditional atomic update. An instance has at most one update in progress per key; charges that arrive
 * meanwhile are batched in order.
 */
export function mongoUsage({ db, options, timeoutMs }: Database) {
  const usage = db.collection<UsageDocument>(usageCollection.name);

  /** Results as if charged one after the other. */
  const chargeTogether = gather<Charge, ChargeResult>(
    async (id, charges) => (await chargeOpenWindows(id, charges)) ?? (await chargeByRules(id, charges)),
    timeoutMs,
  );

  /**
   * The common case: both windows are open with enough left for all charges. Then this conditional update is
   * equivalent to `chargeUsage`.
   *
   * @returns null in any other case
   */
  async function chargeOpenWindows(id: string, charges: readonly Charge[]): Promise<ChargeResult[] | null> {
    const cost = charges.reduce((sum, charge) => sum + charge.cost, 0);
    if (cost === 0) return null;
    const times = charges.map(({ now }) => now);
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const perMinute = Math.min(...charges.map(({ limits }) => limits.perMinute));
    const perDay = Math.min(...charges.map(({ limits }) => limits.perDay));
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
    let later = cost;
    return charges.map(({ cost: own }) => {
      later -= own;
      const [minuteUsed, dayUsed] = [after.minuteUsed - later, after.dayUsed - later];
      return { outcome: 'passed', usage: { ...after, minuteUsed, dayUsed } };
    });
  }

  /** The general case: `chargeUsage` applied to the state, which is written if it has not changed since. */
  async function chargeByRules(id: string, charges: readonly Charge[]): Promise<ChargeResult[]> {
    const deadline = performance.now() + timeoutMs;
    do {
      const document = await usage.findOne({ _id: id }, options);
      const before = document ? toUsage(document) : undefined;
      let state = before ?? initialUsage();
      const results = charges.map((charge) => {
        const result = chargeUsage(state, charge);
        state = result.usage;
        return result;
      });
      if (await write(id, before, state, charges)) return results;
    } while (performance.now() < deadline);
    throw unavailable(new Error(`The usage of ${id} changes too fast.`));
  }

  /** @returns false if the state is not the one before any more */
  async function write(
    id: string,
    before: UsageState | undefined,
    after: UsageState,
    charges: readonly Charge[],
  ): Promise<boolean> {
    const forgetAt = forgottenAt(after, charges.at(-1)!.now);
    if (before) {
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) return true;
      const unchanged: Filter<UsageDocument> = { _id: id, ...before };
      const update = { $set: changes, $max: { forgetAt } };
      return (await usage.updateOne(unchanged, update, options)).matchedCount > 0;
    }
    if (!charges.some(({ cost }) => cost > 0)) return true;
    try {
      await usage.insertOne({ _id: id, ...after, forgetAt }, options);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  return {
    charge: (charge) => chargeTogether(charge.apiKeyId, charge),

    async usage(ids) {
      const wanted = [...new Set(ids)];
      if (wanted.length === 0) return [];
      const documents = await usage
        .find({ _id: { $in: wanted } }, { ...options, batchSize: wanted.length + 1 })
        .toArray();
      const states = new Map(documents.map((document) => [document._id, toUsage(document)]));
      return ids.map((id) => states.get(id) ?? null);
    },
  } satisfies Pick<AccessStore, 'charge' | 'usage'>;
}

/** When nothing of a state matters any more. In whole days, so that the indexed date rarely changes. */
function forgottenAt({ dayStart, refusedUntil, bannedUntil }: UsageState, now: number): Date {
  const counts = Math.max(now, dayStart + DAY, refusedUntil, bannedUntil);
  return new Date(Math.ceil((counts + RETENTION) / DAY) * DAY);
}

/** The state in a usage document. */
export const toUsage = ({ _id, forgetAt, ...state }: UsageDocument): UsageState => plain(state) as UsageState;

/** The fields to set to get from one state to the other. */
function changesOf(before: UsageState, after: UsageState): Partial<UsageState> {
  const names = Object.keys(before) as (keyof UsageState)[];
  const differs = (name: keyof UsageState) =>
    name === 'strikes' ? before.strikes.join() !== after.strikes.join() : before[name] !== after[name];
  return Object.fromEntries(names.filter(differs).map((name) => [name, after[name]]));
}

/** What a key did on a day by one operation over one transport. */
interface UsageRowDocument extends UsageRow {
  /** The key, the date, the transport and the operation. */
  _id: string;
  forgetAt: Date;
}

export const usageHistoryCollection: CollectionDefinition = {
  name: 'usageHistory',
  indexes: [{ key: { apiKeyId: 1, date: 1 } }, { key: { forgetAt: 1 }, expireAfterSeconds: 0 }],
};

/**
 * The history of what keys did, to which every instance adds.
 *
 * @param together makes several writes all or none
 */
export function mongoUsageHistory({ db, options }: Database, together: Together) {
  const history = db.collection<UsageRowDocument>(usageHistoryCollection.name);
  const apiKeys = db.collection<StoredDocument>(apiKeysCollection.name);

  async function add(rows: readonly UsageRow[], options: CallOptions): Promise<void> {
    if (rows.length === 0) return;
    const writes = rows.map(({ requests, units, refused, ...of }) => {
      const forgetAt = new Date(Date.parse(of.date) + (HISTORY_KEPT + 1) * DAY);
      return {
        updateOne: {
          filter: { _id: [of.apiKeyId, of.date, of.transport, of.operation].join(' ') },
          update: { $inc: { requests, units, refused }, $setOnInsert: { ...of, forgetAt } },
          upsert: true,
        },
      };
    });
    await history.bulkWrite(writes, { ...options, ordered: false });
  }

  const rowsOfKey = (apiKeyId: string, from: string, to: string) => ({
    apiKeyId,
    date: { $gte: from, $lte: to },
  });

  return {
    addUsage: (rows, uses) =>
      together(async (options) => {
        await touch(apiKeys, Object.entries(uses), options);
        await add(rows, options);
      }),

    async usageDays(apiKeyId, from, to) {
      const rows = await history
        .find(rowsOfKey(apiKeyId, from, to), { ...options, sort: { date: 1 } })
        .toArray();
      const days = new Map<string, UsageOperation[]>();
      for (const row of rows) {
        const { _id, apiKeyId: _, forgetAt, date, ...operation } = row;
        days.set(date, [...(days.get(date) ?? []), plain(operation) as UsageOperation]);
      }
      return [...days].map(([date, operations]) => ({ date, operations }));
    },

    async usageTotals(apiKeyId, from, to) {
      const sum = (name: string) => ({ $sum: `$${name}` });
      const totals = { requests: sum('requests'), units: sum('units'), refused: sum('refused') };
      const days = await history
        .aggregate<{ _id: string } & Pick<UsageRow, 'requests' | 'units' | 'refused'>>(
          [
            { $match: rowsOfKey(apiKeyId, from, to) },
            { $group: { _id: '$date', ...totals } },
            { $sort: { _id: 1 } },
          ],
          options,
        )
        .toArray();
      return days.map((day) => {
        const { _id, ...total } = plain(day) as typeof day;
        return { date: _id, ...total };
      });
    },
  } satisfies UsageHistoryStore;
}
