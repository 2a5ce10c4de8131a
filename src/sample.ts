import { newApiKey, newSecret } from './access/api-keys.ts';
import { DOMAINS, RECORDS } from './domains/index.ts';
import { AppError } from './foundation/errors.ts';
import type { Id } from './foundation/id.ts';
import type { MaybePromise } from './foundation/maybe-promise.ts';
import { type Fields, referencesOf } from './foundation/record.ts';
import type { Store } from './store/store.ts';
import type { Tables } from './store/table.ts';
import { DAY } from './store/usage.ts';

const KEY_NAME = 'development';

/** The samples of the domains that have one, those that others refer to first. */
const SAMPLES = RECORDS.flatMap((record) => {
  const rows = DOMAINS.find((domain) => domain.record === record && domain.sample)?.sample;
  return rows ? [{ record, rows: rows as readonly Readonly<Record<string, unknown>>[] }] : [];
});

/** The existing sample records by sample name, in the order of creation. */
type SampleProgress = Readonly<Record<string, readonly { id: Id }[]>>;

/**
 * Determines how much of the sample an unused store holds: nothing if it is new, a part if the process
 * filling it was killed. Unused keys do not count, since they may be created before the first start.
 *
 * @returns null if the store has been used or holds anything else
 */
export async function sampleProgress(store: Store): Promise<SampleProgress | null> {
  const keys = await store.apiKeys();
  const usage = await store.usage(keys.map(({ id }) => id));
  if (usage.some((state) => state !== null)) return null;
  const begun: Record<string, readonly { id: Id }[]> = {};
  for (const { record, rows } of SAMPLES) {
    const { items } = await store.table(record).page({}, { limit: rows.length + 1 });
    const isOfSample = (item: Readonly<Record<string, unknown>>, row: (typeof rows)[number] = {}) =>
      Object.entries(record.fields as Fields).every(
        ([name, { reference }]) => reference !== undefined || item[name] === row[name],
      );
    if (!items.every((item, n) => isOfSample(item, rows[n]))) return null;
    begun[record.plural] = items;
  }
  return begun;
}

/**
 * Adds a few records of each domain, for trying things out.
 *
 * @param begun the records that already exist
 * @throws CONFLICT while another process adds them; can be retried
 */
export async function addSampleData(store: Store, begun: SampleProgress = {}): Promise<void> {
  // Idempotent, so that several processes filling one database create each record once.
  const createOnce = async <T>(name: string, work: (tables: Tables) => MaybePromise<T>): Promise<T> => {
    const call = {
      apiKeyId: 'sample',
      idempotencyKey: name,
      fingerprint: name,
      now: Date.now(),
      keepFor: DAY,
    };
    const { value, error } = await store.once(call, work);
    if (error) throw new AppError(error.code, error.message);
    return value as T;
  };

  const made: Record<string, readonly Id[]> = {};
  for (const { record, rows } of SAMPLES) {
    const { plural } = record;
    const ids: Id[] = [];
    for (const [n, row] of rows.entries()) {
      const references = referencesOf(record).map(({ field, parent }) => [
        field,
        made[parent.plural]![row[field] as number],
      ]);
      const values = { ...row, ...Object.fromEntries(references) };
      const { id } =
        begun[plural]?.[n] ??
        (await createOnce(`${plural} ${n}`, (tables) => tables.table(record).insert(values as never)));
      ids.push(id);
    }
    made[plural] = ids;
  }
}

/**
 * A key for development. Keys are stored only as hashes, so each start creates a new secret for the same
 * budget. The previous one stays valid for a day.
 *
 * @param create whether to create the key if there is none
 * @returns the key, which is shown nowhere else
 */
export async function developmentKey(store: Store, create: boolean, now: number): Promise<string | null> {
  const existing = (await store.apiKeys()).find(
    (key) => key.name === KEY_NAME && key.revokedAt === undefined,
  );
  if (existing) {
    const { key, secret } = newSecret();
    await store.rotateApiKey(existing.id, secret, now + DAY);
    return key;
  }
  if (!create) return null;
  const { key, apiKey } = newApiKey({ name: KEY_NAME, plan: 'business', now });
  await store.createApiKey(apiKey);
  return key;
}
