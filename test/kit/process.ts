import { type ChildProcess, execFile, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll } from 'vitest';
import { freePort } from './mongo.ts';

/** The Node.js that runs the built program; another one than that of the tests if PROGRAM_NODE is set. */
const node = process.env.PROGRAM_NODE ?? process.execPath;
const root = fileURLToPath(new URL('../..', import.meta.url));

/** An environment without the settings of the test process. */
const environmentOf = (settings: Record<string, string>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...settings,
});

/** The real server in a separate process. */
export interface ServerProcess {
  child: ChildProcess;
  url: string;
  /** Its output so far. */
  output: () => string;
  /** Resolves with the exit code; null if it was killed. */
  exited: Promise<number | null>;
}

export interface StartOptions {
  /** Arguments of `ulimit` for the process. */
  limits?: string;
  /**
   * Where its standard output goes: to the test, to a closed pipe, to a pipe that is never read, or to a
   * file.
   */
  output?: 'read' | 'closed' | 'unread' | { file: string } | undefined;
  /** The folder it was built in; the repository's by default. */
  home?: string;
}

/**
 * Starts the built server on a free port. Resolves when it has printed its banner, or responds if its output
 * cannot be read. Rejects with its output if it exits first.
 */
export async function startServer(
  settings: Record<string, string>,
  { limits, output: to = 'read', home = root }: StartOptions = {},
): Promise<ServerProcess> {
  const port = await freePort();
  const redirect = typeof to === 'object' ? `>> '${to.file}'` : '';
  const shell = `${limits ? `ulimit ${limits};` : ''} exec "$0" "$@" ${redirect}`;
  const child = spawn('bash', ['-c', shell, node, 'dist/main.js'], {
    cwd: home,
    env: environmentOf({ PORT: String(port), ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (to === 'closed') child.stdout.destroy();
  const url = `http://127.0.0.1:${port}`;
  let output = '';
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const greeted = new Promise<void>((resolve) => {
    for (const stream of to === 'read' ? [child.stdout, child.stderr] : [child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Petstore gateway on') && output.includes('\n\n')) resolve();
      });
    }
  });
  await Promise.race([
    to === 'read' ? greeted : answers(url, child),
    exited.then((code) => {
      throw new Error(`The server ended with ${code}:\n${output}`);
    }),
  ]);
  return { child, url, output: () => output, exited };
}

/** Ends a server, if it was started, and waits for its exit code; null if it was killed. */
export function endServer(
  server: ServerProcess | undefined,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<number | null> | undefined {
  server?.child.kill(signal);
  return server?.exited;
}

/** A server that runs for all tests of a file or `describe`. */
export function useServer(settings: Record<string, string>): ServerProcess {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await startServer(settings);
  });
  afterAll(() => endServer(server, 'SIGTERM'));
  return {
    get child() {
      return server.child;
    },
    get url() {
      return server.url;
    },
    get exited() {
      return server.exited;
    },
    output: () => server.output(),
  };
}

async function answers(url: string, child: ChildProcess): Promise<void> {
  while (child.exitCode === null) {
    const isLive = await fetch(`${url}/health/live`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isLive) return;
    await sleep(20);
  }
}

/** The key printed by a development start. */
export const printedKey = ({ output }: ServerProcess): string =>
  /petstore_[\w-]{43,}/.exec(output())?.[0] ?? '';

/** Sends a GET request, with the key that a development start has printed or another one. */
export const get = (server: ServerProcess, path: string, key = printedKey(server)) =>
  fetch(server.url + path, { headers: { 'x-api-key': key } });

/** Changes what a running process may do, as `ulimit` does for one that starts. */
export const limit = ({ child }: ServerProcess, what: string) =>
  execFileSync('prlimit', ['--pid', String(child.pid), what]);

/** Longer than a server needs to stop, in milliseconds. */
export const EXIT_TIMEOUT = 10_000;

/** Runs the keys command. */
export const runKeys = (settings: Record<string, string>, ...args: string[]) =>
  runCommand('keys', settings, ...args);

/** Creates a key that no plan limits: how much is sent with it depends on the machine alone. */
export async function createUnlimitedKey(settings: Record<string, string>): Promise<string> {
  const limits = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', '1000000'];
  return JSON.parse((await runKeys(settings, 'create', '--name', 'test', ...limits, '--json')).stdout).key;
}

/** The result of a command. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** The process of this worker that runs commands, and what it will have done last. */
let runner: ChildProcess | undefined;
let latest: Promise<unknown> = Promise.resolve();

/** Runs a command of the built program as {@link startCommand} does, in a process that is started once. */
export function runCommand(
  name: string,
  settings: Record<string, string>,
  ...args: string[]
): Promise<Outcome> {
  const outcome = latest.then(async () => {
    if (runner?.connected !== true) {
      runner = fork('test/kit/commands.mjs', {
        cwd: root,
        env: environmentOf({}),
        execPath: node,
        execArgv: ['--expose-gc'],
      });
      // It ends with this process.
      runner.unref();
      runner.channel!.unref();
    }
    const ended = new AbortController();
    const { signal } = ended;
    runner.send({ args: [name, ...args], settings });
    try {
      return await Promise.race([
        once(runner, 'message', { signal }).then(([message]) => message as Outcome),
        once(runner, 'exit', { signal }).then(([code, killedBy]) => {
          throw new Error(`The process of ${name} ${args.join(' ')} ended with ${code ?? killedBy}.`);
        }),
      ]);
    } finally {
      ended.abort();
    }
  });
  latest = outcome.catch(() => {});
  return outcome;
}

/** Runs a command of the built program in a process of its own. */
export async function startCommand(
  name: string,
  settings: Record<string, string>,
  ...args: string[]
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(
      node,
      ['dist/petstore.js', name, ...args],
      { cwd: root, env: environmentOf(settings) },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}
