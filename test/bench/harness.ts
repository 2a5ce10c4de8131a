import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort } from '../kit/mongo.ts';

/** A server under measurement, in its own process. */
export interface MeasuredServer {
  child: ChildProcess;
  url: string;
}

/** The programs under measurement, none of which outlives this one: not even if it is interrupted. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

/**
 * Starts the built gateway, does some work with it once it is ready, and stops it.
 *
 * @param options of node
 * @param command of another server, which listens on PORT
 * @param ready the path that it answers with 200 once it is ready
 */
export async function withServer<R>(
  settings: Record<string, string>,
  work: (server: MeasuredServer) => Promise<R>,
  options: readonly string[] = [],
  command: readonly string[] = [process.execPath, ...options, 'dist/main.js'],
  ready = '/health/ready',
): Promise<R> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(command[0]!, command.slice(1), {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', SAMPLE_DATA: 'off', PORT: String(port), ...settings },
  });
  running.add(child);
  const exited = once(child, 'exit').then(() => running.delete(child));
  const isReady = () =>
    fetch(url + ready).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('The server did not start.');
    await sleep(10);
  }
  try {
    return await work({ child, url });
  } finally {
    child.kill('SIGTERM');
    await exited;
  }
}

/** The answer of the module that was loaded into a server. */
export async function ask<T>(child: ChildProcess, message: string): Promise<T> {
  const answer = once(child, 'message');
  child.send(message);
  return (await answer)[0];
}

/** A folder that is removed at the end of the process. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The numbers given on the command line. @param fixed their defaults, and the most that they can be */
export function numbersOf<Name extends string>(
  fixed: Readonly<Record<Name, readonly [standard: number, most: number]>>,
): Record<Name, number> {
  const entries = Object.entries<readonly [number, number]>(fixed);
  const options = Object.fromEntries(
    entries.map(([name, [standard]]) => [name, { type: 'string' as const, default: String(standard) }]),
  );
  const { values } = parseArgs({ options });
  return Object.fromEntries(
    entries.map(([name, [, most]]) => [name, Math.min(most, Number(values[name]))]),
  ) as Record<Name, number>;
}

/** Other facts that may explain the figures. */
export const machine = (): string =>
  `${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}, Node ${process.version}`;

/** The faults of the figures so far. */
const problems: string[] = [];

export function expectAtMost(what: string, figure: number, limit: number): void {
  if (!(figure <= limit)) problems.push(`${what}: ${figure.toFixed(2)}, the limit is ${limit}`);
}

/** Prints whether all figures are within their limits, which is also the exit code. */
export function conclude(): void {
  console.log(problems.length === 0 ? 'passed' : problems.join('\n'));
  process.exitCode = problems.length === 0 ? 0 : 1;
}

/** The processor time that all threads of a process have taken, in microseconds. */
export const processorTime = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0]))
    .reduce((total, nanoseconds) => total + nanoseconds / 1_000, 0);

/** The current memory of a process in megabytes. */
export function memoryOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)![1]) / 1024;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1]! + sorted[sorted.length >> 1]!) / 2;
}

/** An HTTP request. */
export interface RawRequest {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string;
}

/** A request with a JSON body. */
export const post = (path: string, body: unknown): RawRequest => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Fields, each with an alias. */
export const aliases = (count: number, field: string | ((n: number) => string)): string =>
  Array.from({ length: count }, (_, n) => `a${n}: ${typeof field === 'string' ? field : field(n)}`).join(' ');

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Sends a request as cheaply as Node.js can. @returns its status, and its answer as text */
export function send(
  url: string,
  { method, path, headers, body = '' }: RawRequest,
  key: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const length = { 'content-length': Buffer.byteLength(body) };
    const options = { agent, method, headers: { ...headers, ...length, 'x-api-key': key } };
    const outgoing = request(url + path, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode!, text: Buffer.concat(chunks).toString() }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
