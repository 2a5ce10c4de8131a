import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { freePort } from './mongo.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The environment of a process that must not see the tests' own settings. */
const environmentOf = (settings: Record<string, string>): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...settings,
});

/** The real server as a process of its own. */
export interface ServerProcess {
  child: ChildProcess;
  url: string;
  /** Everything it has written so far. */
  output: () => string;
  /** Resolves with the exit code, null if a signal ended it. */
  exited: Promise<number | null>;
}

/**
 * Starts src/main.ts on a free port; ready when the promise resolves. Rejects with its output if it ends before.
 *
 * @param limits words of `ulimit` that the process runs under
 */
export async function startServer(settings: Record<string, string>, limits = ''): Promise<ServerProcess> {
  const port = await freePort();
  const shell = `${limits && `ulimit ${limits};`} exec "$0" "$@"`;
  const child = spawn('bash', ['-c', shell, process.execPath, '--import', 'tsx', 'src/main.ts'], {
    cwd: root,
    env: environmentOf({ PORT: String(port), ...settings }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('Petstore gateway on') && output.includes('\n\n')) resolve();
      });
    }
  });
  await Promise.race([
    ready,
    exited.then((code) => {
      throw new Error(`The server ended with ${code}:\n${output}`);
    }),
  ]);
  return { child, url: `http://127.0.0.1:${port}`, output: () => output, exited };
}

/** The key that a development start prints. */
export const printedKey = ({ output }: ServerProcess): string =>
  /petstore_[\w-]{43}/.exec(output())?.[0] ?? '';

/** Runs the keys command. */
export async function runKeys(
  settings: Record<string, string>,
  ...args: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--import', 'tsx', 'src/cli/keys.ts', ...args],
      { cwd: root, env: environmentOf(settings) },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });
}
