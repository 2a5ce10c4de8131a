import type { MaybePromise } from '../../foundation/turns.ts';
import {
  type Charge,
  type ChargeResult,
  chargeUsage,
  initialUsage,
  type UsageState,
} from '../limiter-algorithm.ts';
import type { SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

/** The number of keys in memory above which saved ones are dropped. */
const MAX_IN_MEMORY = 20_000;

/** The share of the minute's limit that may be charged before it is saved. */
const UNSAVED_SHARE = 0.1;

/** How long a charge may be unsaved, in milliseconds. */
const UNSAVED_TIME = 100;

/** Saves the usage of keys, by their ids. */
export const saveUsage = (db: SqliteConnection, states: ReadonlyMap<string, UsageState>) =>
  db.run(
    `insert into usage (api_key_id, state) select value ->> 0, value -> 1 from json_each(?) where true
     on conflict do update set state = excluded.state`,
    [JSON.stringify([...states])],
  );

/**
 * The usage of each key. Charges happen in memory. A flush saves changes in one statement, {@link UNSAVED_TIME} after
 * the first of them; a ban, or more than a tenth of the minute's limit, is saved before the response. While saving fails,
 * for example because the disk is full, charging goes on, and the next charge tries again.
 */
export function usageLedger(db: SqliteConnection, writer: Writer) {
  const states = new Map<string, UsageState>();
  let changed = new Map<string, UsageState>();
  /** Charged units that are not saved yet and would be lost in a kill. */
  const unsaved = new Map<string, number>();
  let saving: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const stateOf = (apiKeyId: string): UsageState | undefined =>
    states.get(apiKeyId) ?? db.json('select state from usage where api_key_id = ?', [apiKeyId]);

  const save = async (): Promise<void> => {
    if (changed.size === 0) return;
    const saved = changed;
    const units = new Map(unsaved);
    changed = new Map();
    try {
      await writer.write(() => saveUsage(db, saved), 'single');
      if (states.size > MAX_IN_MEMORY)
        for (const id of states.keys()) if (!changed.has(id)) states.delete(id);
    } catch (error) {
      // Later states, such as a ban, may have been saved meanwhile, so the current ones are saved next.
      for (const [id, state] of saved) if (!changed.has(id)) changed.set(id, states.get(id) ?? state);
      throw error;
    } finally {
      for (const [id, count] of units) {
        const rest = unsaved.get(id)! - count;
        if (rest > 0) unsaved.set(id, rest);
        else unsaved.delete(id);
      }
    }
  };

  /** Saves all changes so far. One save runs at a time; concurrent calls share the next one. */
  const flush = async (): Promise<void> => {
    await saving?.catch(() => {});
    await (saving ??= save().finally(() => {
      saving = undefined;
    }));
  };

  return {
    charge(charge: Charge): MaybePromise<ChargeResult> {
      const { apiKeyId } = charge;
      const before = stateOf(apiKeyId) ?? initialUsage();
      const result = chargeUsage(before, charge);
      if (result.usage !== before) {
        states.set(apiKeyId, result.usage);
        changed.set(apiKeyId, result.usage);
        timer ??= setTimeout(() => {
          timer = undefined;
          // `writer.failure` shows a failure.
          flush().catch(() => {});
        }, UNSAVED_TIME).unref();
        const units = (unsaved.get(apiKeyId) ?? 0) + (result.verdict === 'passed' ? charge.cost : 0);
        if (units > 0) unsaved.set(apiKeyId, units);
        const isDue = units > charge.limits.perMinute * UNSAVED_SHARE;
        if (isDue || result.verdict === 'banned')
          return flush().then(
            () => result,
            () => result,
          );
      }
      return result;
    },
    usage: async (apiKeyIds: readonly string[]) => apiKeyIds.map((id) => stateOf(id) ?? null),
    flush,
  };
}
