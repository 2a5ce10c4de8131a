import { call } from './call.ts';

/** Changes a record that others may change too. `change` is called again if somebody was faster. */
export async function update<T>(url: string, key: string, change: (record: T) => object): Promise<T> {
  for (;;) {
    const read = await call(url, { headers: { 'X-API-Key': key } });
    if (!read.ok) throw new Error((await read.json()).message);
    const written = await call(url, {
      method: 'PATCH',
      headers: {
        'X-API-Key': key,
        'Content-Type': 'application/json',
        'If-Match': read.headers.get('ETag')!,
      },
      body: JSON.stringify(change((await read.json()) as T)),
    });
    if (written.status === 412) continue;
    if (!written.ok) throw new Error((await written.json()).message);
    return (await written.json()) as T;
  }
}
