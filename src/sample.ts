import { newApiKey, newSecret } from './access/api-keys.ts';
import { DOMAINS } from './domains/index.ts';
import { AppError } from './foundation/errors.ts';
import type { Id } from './foundation/id.ts';
import type { MaybePromise } from './foundation/maybe-promise.ts';
import type { AnyRecord } from './foundation/record.ts';
import type { Domain } from './schema/domain.ts';
import type { Sample } from './schema/sample.ts';
import type { Store } from './store/store.ts';
import type { Tables } from './store/table.ts';
import { DAY } from './store/usage.ts';

const KEY_NAME = 'development';

const SAMPLES: readonly Sample[] = DOMAINS.flatMap(({ sample }: Domain) => sample ?? []);

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
  for (const sample of SAMPLES) {
    const { items } = await store.table(sample.record).page({}, { limit: sample.size + 1 });
    if (!items.every((record, n) => n < sample.size && sample.matches(record, n))) return null;
    begun[sample.record.plural] = items;
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

  const made = new Map<AnyRecord, readonly Id[]>();
  /** Adds a sample after the one it refers to. @returns the ids of its records */
  const add = async (record: AnyRecord): Promise<readonly Id[]> => {
    const known = made.get(record);
    if (known) return known;
    const { plural } = record;
    const sample = SAMPLES.find((sample) => sample.record === record)!;
    const referred = sample.refersTo === undefined ? [] : await add(sample.refersTo);
    const ids: Id[] = [];
    for (let n = 0; n < sample.size; n++) {
      const { id } =
        begun[plural]?.[n] ??
        (await createOnce(`${plural} ${n}`, (tables) => sample.create(n, tables, referred)));
      await sample.complete?.(n, id, store);
      ids.push(id);
    }
    made.set(record, ids);
    return ids;
  };
  for (const { record } of SAMPLES) await add(record);
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
