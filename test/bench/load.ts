import autocannon from 'autocannon';
import type { Workload } from './workloads.ts';

/**
 * Sends one kind of request for some seconds, over so many connections.
 *
 * @returns how many were answered, and in how many seconds
 * @throws if any was refused or failed
 */
export async function load(
  url: string,
  { path, body }: Workload,
  key: string,
  { connections, duration }: { connections: number; duration: number },
): Promise<{ answers: number; seconds: number }> {
  const result = await autocannon({
    url: url + path,
    connections,
    duration,
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
  return { answers: result.requests.total, seconds: result.duration };
}
