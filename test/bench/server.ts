import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A server under measurement, in its own process. */
export interface MeasuredServer {
  child: ChildProcess;
  url: string;
  port: number;
  stop(): Promise<void>;
}

/** The programs under measurement, none of which outlives this one: not even if it is interrupted. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/**
 * Starts a program that listens on PORT, and resolves when it is ready.
 *
 * @param args of node
 * @param path a path that returns 2xx once the program is ready
 */
export async function startServer(
  args: readonly string[],
  port: number,
  settings: Record<string, string>,
  path = '/health/ready',
): Promise<MeasuredServer> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', SAMPLE_DATA: 'off', PORT: String(port), ...settings },
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  child.stdout!.resume();
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 1_000 && child.exitCode === null; attempt++) {
    const isReady = await fetch(url + path).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return { child, url, port, stop };
    await sleep(10);
  }
  child.kill('SIGKILL');
  throw new Error('The server did not start.');
}

/** The CPU time that all threads of a process have used so far, in milliseconds. */
export function cpuMilliseconds({ pid }: ChildProcess): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = threads.map((thread) =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanoseconds.reduce((sum, value) => sum + value, 0) / 1e6;
}

/** The current or peak memory of a process in megabytes. */
export function memoryOf({ pid }: ChildProcess, which: 'VmRSS' | 'VmHWM' = 'VmRSS'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${which}:\\s+(\\d+) kB`, 'm').exec(status)![1]) / 1024;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}
