import autocannon from 'autocannon';
import type { Workload } from './workloads.ts';

/** A number of seconds, or a number of requests within `maxSeconds`. A slow server handles fewer of them in that time. */
type Length = { duration: number } | { amount: number; maxSeconds?: number };

/**
 * Repeats a request over several connections.
 *
 * @returns the number of responses and the seconds they took
 * @throws if any request was refused or failed
 */
export async function load(
  url: string,
  { path, body }: Workload,
  key: string,
  { connections, ...length }: { connections: number } & Length,
): Promise<{ responses: number; seconds: number }> {
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
  return { responses: result['2xx'], seconds: result.duration };
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
