import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { PoolOptions, PoolRunnerInitializer, PoolWorker } from 'vitest/node';

const ENTRY = fileURLToPath(new URL('./worker.mjs', import.meta.url));
/** Runs after which the process is replaced, which removes whatever mutants left behind. */
const RUNS_PER_PROCESS = 100;
/** A run that takes longer, in milliseconds, may have left something running. */
const SUSPICIOUS_MS = 15_000;

let child: ChildProcess | undefined;
let runs = 0;
/** Vitest starts the next worker while the previous one is still stopping. */
let isFree: Promise<void> = Promise.resolve();

/**
 * Like Vitest's pool of processes, but the process is reused for further runs. A process per mutant would spend most of
 * the time loading libraries. `worker.mjs` keeps one run from seeing the mutant of another.
 */
export const pool: PoolRunnerInitializer = {
  name: 'mutants',
  createPoolWorker: (options) => new ReusedWorker(options),
};

class ReusedWorker implements PoolWorker {
  readonly name = 'mutants';
  readonly cacheFs = true;
  readonly #options: PoolOptions;
  readonly #listeners: [event: string, listener: (value: unknown) => void][] = [];
  #child: ChildProcess | undefined;
  #startedAt = 0;
  #free: () => void = () => {};

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const isFreeAgain = isFree;
    isFree = new Promise((resolve) => {
      this.#free = resolve;
    });
    await isFreeAgain;
    this.#startedAt = Date.now();
    const { execArgv, env } = this.#options;
    if (child?.connected !== true) {
      runs = 0;
      child = fork(ENTRY, {
        execArgv,
        env: env as NodeJS.ProcessEnv,
        stdio: 'ignore',
        serialization: 'advanced',
      });
      child.setMaxListeners(0);
    }
    runs += 1;
    this.#child = child;
  }

  stop(): Promise<void> {
    for (const [event, listener] of this.#listeners) this.#child?.off(event, listener);
    const { mode } = this.#options.project.getProvidedContext() as { mode?: string };
    const isUsedUp = runs >= RUNS_PER_PROCESS || Date.now() - this.#startedAt > SUSPICIOUS_MS;
    if (isUsedUp || mode !== 'mutant') {
      this.#child?.kill('SIGKILL');
      if (child === this.#child) child = undefined;
    }
    this.#free();
    return Promise.resolve();
  }

  on(event: string, listener: (value: unknown) => void): void {
    this.#listeners.push([event, listener]);
    this.#child?.on(event, listener);
  }

  off(event: string, listener: (value: unknown) => void): void {
    this.#child?.off(event, listener);
  }

  send(message: object): void {
    this.#child?.send(message);
  }

  deserialize(data: unknown): unknown {
    return data;
  }
}
