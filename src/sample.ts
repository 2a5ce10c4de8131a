import type { Api } from './domains/create-api.ts';
import { referencesOf } from './foundation/record.ts';
import type { Store } from './store/store.ts';
import { DAY } from './foundation/instant.ts';

/** The samples of domains, parents before children. */
const samplesOf = ({ domains, records }: Pick<Api, 'domains' | 'records'>) =>
  records.flatMap((record) => {
    const rows = domains.find((domain) => domain.record === record && domain.sample)?.sample;
    return rows ? [{ record, rows: rows as readonly Readonly<Record<string, unknown>>[] }] : [];
  });

/** True if a store has no records, and no keys that were ever used: keys may be created before the first start. */
export async function isUnused(store: Store, api: Api): Promise<boolean> {
  const keys = await store.apiKeys();
  const usage = await store.usage(keys.map(({ id }) => id));
  if (usage.some((state) => state !== null)) return false;
  for (const { record } of samplesOf(api))
    if ((await store.table(record).page({}, { limit: 1 })).items.length > 0) return false;
  return true;
}

/**
 * Adds a few records of each domain, to try things out: all or none, and only once for any number of processes.
 *
 * @throws CONFLICT while another process adds them, UNAVAILABLE; both can be retried
 */
export async function addSampleData(store: Store, api: Api): Promise<void> {
  const call = {
    apiKeyId: 'sample',
    idempotencyKey: 'sample',
    fingerprint: 'sample',
    now: Date.now(),
    keepFor: DAY,
  };
  await store.once(call, async (tables) => {
    const ids: Record<string, unknown[]> = {};
    for (const { record, rows } of samplesOf(api)) {
      const added: unknown[] = (ids[record.plural] = []);
      for (const row of rows) {
        const values: Record<string, unknown> = { ...row };
        for (const { field, parent } of referencesOf(record))
          values[field] = ids[parent.plural]![row[field] as number];
        added.push((await tables.table(record).insert(values as never)).id);
      }
    }
    return null;
  });
}
