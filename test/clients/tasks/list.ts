import { call } from './call.ts';

/** Yields every record of a list, 100 at a time. */
export async function* list<T>(url: string, key: string): AsyncGenerator<T> {
  for (let next: string | undefined = url; next !== undefined;) {
    const response = await call(next, { headers: { 'X-API-Key': key } });
    if (!response.ok) throw new Error((await response.json()).message);
    yield* (await response.json()) as T[];
    const link = /<([^>]+)>; rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
    next = link && new URL(link, url).href;
  }
}
