import autocannon from 'autocannon';
import type { Workload } from './workloads.ts';

/** For so many seconds, or so many times, in at most so many seconds: a slow server answers fewer requests in that time. */
type Length = { duration: number } | { amount: number; maxSeconds?: number };

/**
 * Sends one kind of request over so many connections.
 *
 * @returns how many were answered, and in how many seconds
 * @throws if any was refused or failed
 */
export async function load(
  url: string,
  { path, body }: Workload,
  key: string,
  { connections, ...length }: { connections: number } & Length,
): Promise<{ answers: number; seconds: number }> {
  const result = await run(
    {
      url: url + path,
      connections,
      ...('duration' in length ? { duration: length.duration } : { amount: length.amount }),
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'x-api-key': key,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
    },
    'amount' in length ? length.maxSeconds : undefined,
  );
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${path}: ${result.non2xx} refused, ${result.errors} failed`);
  return { answers: result['2xx'], seconds: result.duration };
}

function run(options: autocannon.Options, maxSeconds: number | undefined): Promise<autocannon.Result> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const instance = autocannon(options, (error: unknown, result) => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve(result);
    });
    if (maxSeconds !== undefined) timer = setTimeout(() => instance.stop?.(), maxSeconds * 1000);
  });
}
