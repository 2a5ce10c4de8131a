import { unavailable } from '../../foundation/errors.ts';
import { attempt } from '../../foundation/maybe-promise.ts';
import type { Charge, ChargeResult, UsageState } from '../store.ts';
import { chargeUsage, initialUsage } from '../usage.ts';
import type { SqliteConnection } from './connection.ts';

/** A kill may lose up to one second of counts. */
const FLUSH_AFTER = 500;
/** How long charging continues while it cannot be saved, in milliseconds. */
const GRACE = 3_000;
/** Beyond this many keys in memory, saved ones are dropped. */
const MAX_IN_MEMORY = 20_000;

/**
 * The usage of each key. The server charges in memory and saves changes in one statement within {@link
 * FLUSH_AFTER}. If that fails for {@link GRACE}, it stops charging, so that a restart cannot give back more
 * than that.
 */
export function usageLedger(db: SqliteConnection, now: () => number) {
  const states = new Map<string, UsageState>();
  let changed = new Map<string, UsageState>();
  let timer: NodeJS.Timeout | undefined;
  let failure: { since: number; cause: unknown } | undefined;

  const known = (apiKeyId: string): UsageState | undefined =>
    states.get(apiKeyId) ?? db.json('select state from usage where api_key_id = ?', [apiKeyId]);

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (changed.size === 0) return;
    try {
      db.run(
        `insert into usage (api_key_id, state) select key, value from json_each(?) where true
         on conflict do update set state = excluded.state`,
        [JSON.stringify(Object.fromEntries(changed))],
      );
      failure = undefined;
      changed = new Map();
      if (states.size > MAX_IN_MEMORY) states.clear();
    } catch (cause) {
      failure = { since: failure?.since ?? now(), cause };
      schedule();
      throw cause;
    }
  };

  const schedule = (): void => {
    timer = setTimeout(() => {
      // What fails is recorded in `failure`; charges report it if it lasts.
      void attempt(
        () => db.whenFree(flush),
        () => {},
      );
    }, FLUSH_AFTER).unref();
  };

  return {
    charge(charge: Charge): ChargeResult {
      if (failure && now() - failure.since > GRACE) throw unavailable(failure.cause);
      const { apiKeyId } = charge;
      const before = known(apiKeyId) ?? initialUsage();
      const result = chargeUsage(before, charge);
      if (result.usage !== before) {
        states.set(apiKeyId, result.usage);
        changed.set(apiKeyId, result.usage);
        if (timer === undefined) schedule();
      }
      return result;
    },
    usage: (apiKeyIds: readonly string[]): (UsageState | null)[] => apiKeyIds.map((id) => known(id) ?? null),
    /** Saves one last time. */
    close(): void {
      try {
        flush();
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
