import { unavailable } from '../../foundation/errors.ts';
import { DAY, MINUTE } from '../../foundation/instant.ts';
import {
  type Charge,
  type ChargeResult,
  chargeUsage,
  initialUsage,
  type LimiterStore,
  type UsageState,
} from '../limiter-algorithm.ts';
import { oneCommandAtATime } from './batching.ts';
import type { Database } from './database.ts';
import { ignoreDuplicate } from './driver-errors.ts';

interface UsageDocument extends UsageState {
  _id: string;
}

/**
 * The usage of keys. Limits are exact across instances, because every charge is a conditional atomic update. An
 * instance has at most one update per key in progress; charges that arrive meanwhile are batched in order.
 */
export function mongoUsage({ db, options, timeoutMs, execute }: Database) {
  const usage = db.collection<UsageDocument>('usage');

  const chargeTogether = oneCommandAtATime<Charge, ChargeResult>(async (id, charges) => {
    // Nothing is charged after the callers have got an error.
    const deadline = performance.now() + timeoutMs;
    return (await chargeOpenWindows(id, charges)) ?? (await chargeByRules(id, charges, deadline));
  }, timeoutMs);

  /**
   * Charges in the common case, in which both windows are open with enough left for all charges. The conditional update
   * is then equivalent to `chargeUsage`.
   *
   * @returns null in any other case
   */
  async function chargeOpenWindows(id: string, charges: readonly Charge[]): Promise<ChargeResult[] | null> {
    const cost = charges.reduce((sum, charge) => sum + charge.cost, 0);
    if (cost === 0) return null;
    const times = charges.map(({ now }) => now);
    const first = Math.min(...times);
    const last = Math.max(...times);
    const perMinute = Math.min(...charges.map(({ limits }) => limits.perMinute));
    const perDay = Math.min(...charges.map(({ limits }) => limits.perDay));
    const children = new Set(charges.flatMap(({ child }) => child ?? []));
    const charged = await usage.findOneAndUpdate(
      {
        _id: id,
        bannedUntil: { $lte: first },
        ...Object.fromEntries(
          [...children].map((child) => [`children.${child}.bannedUntil`, { $not: { $gt: first } }]),
        ),
        minuteStart: { $gt: last - MINUTE, $lte: first },
        minuteUsed: { $lte: perMinute - cost },
        dayStart: { $gt: last - DAY, $lte: first },
        dayUsed: { $lte: perDay - cost },
      },
      { $inc: { minuteUsed: cost, dayUsed: cost } },
      // On compatible servers, `before` may return an older state.
      { ...options, returnDocument: 'after' },
    );
    if (!charged) return null;
    const after = toUsage(charged);
    const before = { minuteUsed: after.minuteUsed - cost, dayUsed: after.dayUsed - cost };
    return resultsOf({ ...after, ...before }, charges);
  }

  /** Charges in the general case: applies `chargeUsage`, and writes the result if the stored state is unchanged. */
  async function chargeByRules(
    id: string,
    charges: readonly Charge[],
    deadline: number,
  ): Promise<ChargeResult[]> {
    while (performance.now() < deadline) {
      const document = await usage.findOne({ _id: id }, options);
      const before = document ? toUsage(document) : initialUsage();
      const results = resultsOf(before, charges);
      const state = results.at(-1)!.usage;
      if (state === before) return results;
      const unchanged = document
        ? { _id: id, ...before, children: before.children ?? (null as never) }
        : { _id: id, minuteStart: null as never };
      try {
        const written = await usage.replaceOne(unchanged, state, { ...options, upsert: !document });
        if (written.matchedCount + written.upsertedCount > 0) return results;
      } catch (error) {
        ignoreDuplicate(error);
      }
    }
    throw unavailable(new Error(`The usage of ${id} changes too fast.`));
  }

  return {
    charge: (charge) => execute(() => chargeTogether(charge.apiKeyId, charge)),

    async usage(ids) {
      if (ids.length === 0) return [];
      const documents = await execute(() =>
        usage.find({ _id: { $in: [...ids] } }, { ...options, batchSize: ids.length + 1 }).toArray(),
      );
      const states = new Map(documents.map((document) => [document._id, toUsage(document)]));
      return ids.map((id) => states.get(id) ?? null);
    },
  } satisfies LimiterStore;
}

/** Applies charges one after another. */
function resultsOf(before: UsageState, charges: readonly Charge[]): ChargeResult[] {
  let usage = before;
  return charges.map((charge) => {
    const result = chargeUsage(usage, charge);
    ({ usage } = result);
    return result;
  });
}

/** The state in a usage document, whose count of the day may be an int64. */
const toUsage = ({ _id, dayUsed, ...state }: UsageDocument): UsageState => ({
  ...state,
  dayUsed: Number(dayUsed),
});
