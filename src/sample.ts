import { newApiKey, newSecret } from './access/api-keys.ts';
import { DAY } from './access/usage.ts';
import type { Id } from './domains/id.ts';
import { DOMAINS } from './domains/index.ts';
import type { Sample } from './domains/sample.ts';
import { AppError } from './errors.ts';
import type { MaybePromise } from './maybe-promise.ts';
import type { PetstoreWrites, Store } from './store/store.ts';

const KEY_NAME = 'development';

const SAMPLES: readonly Sample[] = DOMAINS.flatMap(({ sample }) => sample ?? []);

/** The records of the samples that are there, by the name of the sample, in the order in which they are made. */
type SampleProgress = Readonly<Record<string, readonly { id: Id }[]>>;

/**
 * What a store that nobody has used yet holds of the sample: nothing if it is new, and a part of it if the process that began to
 * fill it was killed. Keys that nobody has used don't count: they may come before the first start.
 *
 * @returns null if somebody has used the store, or it holds something else
 */
export async function sampleProgress(store: Store): Promise<SampleProgress | null> {
  const keys = await store.apiKeys();
  const usage = await store.usage(keys.map(({ id }) => id));
  if (usage.some((state) => state !== null)) return null;
  const begun: Record<string, readonly { id: Id }[]> = {};
  for (const sample of SAMPLES) {
    const { items } = await sample.page(store, sample.size + 1);
    if (!items.every((record, n) => n < sample.size && sample.matches(record, n))) return null;
    begun[sample.name] = items;
  }
  return begun;
}

/**
 * Puts a few records of each domain into the store, for people who want to try things out.
 *
 * @param begun what is there already
 * @throws CONFLICT while another process is at it; it can be tried again
 */
export async function addSampleData(store: Store, begun: SampleProgress = {}): Promise<void> {
  // Each record once, whoever else fills the same database at the moment.
  const make = async <T>(name: string, work: (writes: PetstoreWrites) => MaybePromise<T>): Promise<T> => {
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

  const made = new Map<string, readonly Id[]>();
  /** @returns the ids of the records of a sample, after those that they refer to */
  const add = async (name: string): Promise<readonly Id[]> => {
    const known = made.get(name);
    if (known) return known;
    const sample = SAMPLES.find((one) => one.name === name)!;
    const referred = sample.refersTo === undefined ? [] : await add(sample.refersTo);
    const ids: Id[] = [];
    for (let n = 0; n < sample.size; n++) {
      const { id } =
        begun[name]?.[n] ?? (await make(`${name} ${n}`, (writes) => sample.create(n, writes, referred)));
      await sample.complete?.(n, id, store);
      ids.push(id);
    }
    made.set(name, ids);
    return ids;
  };
  for (const { name } of SAMPLES) await add(name);
}

/**
 * A key to try things out with, for development starts only. Since no key is stored, each start makes a new one for the
 * same budget; the one before works for another day.
 *
 * @param create whether to make the key where there is none
 * @returns the key, shown nowhere else
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
