import { type Charge, type ChargeResult, chargeUsage, initialUsage, type UsageState } from '../usage.ts';
import type { SqliteConnection } from './connection.ts';
import type { Writer } from './writer.ts';

/** Beyond this many keys in memory, saved ones are dropped. */
const MAX_IN_MEMORY = 20_000;

/** Saves the usage of keys, by their ids. */
export const saveUsage = (db: SqliteConnection, states: ReadonlyMap<string, UsageState>) =>
  db.run(
    `insert into usage (api_key_id, state) select key, value from json_each(?) where true
     on conflict do update set state = excluded.state`,
    [JSON.stringify(Object.fromEntries(states))],
  );

/**
 * The usage of each key. The server charges in memory; changes are saved in one statement when they are flushed, and
 * before anybody is told of a ban. While they cannot be saved, as on a full disk, it charges all the same.
 */
export function usageLedger(db: SqliteConnection, writer: Writer) {
  const states = new Map<string, UsageState>();
  let changed = new Map<string, UsageState>();

  const known = (apiKeyId: string): UsageState | undefined =>
    states.get(apiKeyId) ?? db.json('select state from usage where api_key_id = ?', [apiKeyId]);

  const flush = async (): Promise<void> => {
    if (changed.size === 0) return;
    const saving = changed;
    changed = new Map();
    try {
      await writer.write(() => saveUsage(db, saving));
      if (states.size > MAX_IN_MEMORY && changed.size === 0) states.clear();
    } catch (error) {
      // Later states may have been saved meanwhile, as of a ban: the current ones are.
      for (const [id, state] of saving) if (!changed.has(id)) changed.set(id, states.get(id) ?? state);
      throw error;
    }
  };

  return {
    async charge(charge: Charge): Promise<ChargeResult> {
      const { apiKeyId } = charge;
      const before = known(apiKeyId) ?? initialUsage();
      const result = chargeUsage(before, charge);
      if (result.usage !== before) {
        states.set(apiKeyId, result.usage);
        changed.set(apiKeyId, result.usage);
        if (result.usage.bannedUntil !== before.bannedUntil) await flush().catch(() => {});
      }
      return result;
    },
    usage: async (apiKeyIds: readonly string[]) => apiKeyIds.map((id) => known(id) ?? null),
    flush,
  };
}
