import autocannon from 'autocannon';
import type { Workload } from './workloads.ts';

/**
 * Sends one kind of request over so many connections, for `duration` seconds or `amount` times.
 *
 * @returns how many were answered, and in how many seconds
 * @throws if any was refused or failed
 */
export async function load(
  url: string,
  { path, body }: Workload,
  key: string,
  { connections, ...how }: { connections: number } & ({ duration: number } | { amount: number }),
): Promise<{ answers: number; seconds: number }> {
  const result = await autocannon({
    url: url + path,
    connections,
    ...how,
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-api-key': key,
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
  return { answers: result['2xx'], seconds: result.duration };
}
