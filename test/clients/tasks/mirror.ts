import { call } from './call.ts';
import { exported } from './export.ts';
import { follow } from './follow.ts';

const LISTS = { category: 'categories', pet: 'pets', order: 'store/orders', inventory: 'store/inventory' };

/** Your copy. Both methods are called more than once for some records. */
export interface Mirror {
  put(type: string, record: object): Promise<void>;
  remove(type: string, id: number): Promise<void>;
}

/**
 * Fills a mirror with everything there is, and brings it up to date.
 *
 * @returns the position to call `update` with from now on
 */
export async function fill(url: string, key: string, mirror: Mirror): Promise<string> {
  // First the position: what changes during the export comes again as an event.
  const response = await call(`${url}/events?after=now`, { headers: { 'X-API-Key': key } });
  if (!response.ok) throw new Error((await response.json()).message);
  const position = new URL(/<([^>]+)>; rel="next"/.exec(response.headers.get('Link')!)![1]!, url);
  for (const [type, path] of Object.entries(LISTS))
    for await (const record of exported<object>(`${url}/${path}`, key)) await mirror.put(type, record);
  return update(url, key, position.searchParams.get('after')!, mirror);
}

/** Applies what has changed since. @returns the position for the next time, to be stored with the mirror */
export async function update(url: string, key: string, after: string, mirror: Mirror): Promise<string> {
  const last = await follow(url, key, after, async ({ type, data }) => {
    const [kind, change] = type.split('.') as [string, string];
    if (change === 'deleted') await mirror.remove(kind, data.id!);
    else await mirror.put(kind, data);
  });
  return last!;
}
