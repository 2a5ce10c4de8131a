import { randomUUID } from 'node:crypto';
import { call } from './call.ts';

/** Creates a record exactly once, even if a response is lost on the way. */
export async function create<T>(url: string, key: string, record: object): Promise<T> {
  const init = {
    method: 'POST',
    headers: {
      'X-API-Key': key,
      'Content-Type': 'application/json',
      'Idempotency-Key': randomUUID(),
    },
    body: JSON.stringify(record),
  };
  // Sending the same request again is safe: the gateway returns the first outcome.
  const response = await call(url, init).catch(() => call(url, init));
  if (!response.ok) throw new Error((await response.json()).message);
  return (await response.json()) as T;
}
