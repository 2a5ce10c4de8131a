import { call } from './call.ts';

interface Change {
  id: string;
  type: string;
  data: { id?: number };
}

/**
 * Passes all changes to `handle`, in order and at least once.
 *
 * @param after the id of the last change handled; undefined the first time
 * @returns the id to continue from, to be stored together with what `handle` did
 */
export async function follow(
  url: string,
  key: string,
  after: string | undefined,
  handle: (change: Change) => Promise<void>,
): Promise<string | undefined> {
  for (let last = after; ;) {
    const query = last === undefined ? '' : `&after=${encodeURIComponent(last)}`;
    const response = await call(`${url}/events?limit=100${query}`, { headers: { 'X-API-Key': key } });
    // 410: too long ago. Read the records themselves again, then follow from now on.
    if (!response.ok) throw new Error((await response.json()).message);
    const changes = (await response.json()) as Change[];
    for (const change of changes) await handle(change);
    if (changes.length === 0) return last;
    last = changes.at(-1)!.id;
  }
}
