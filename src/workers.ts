import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { deferred } from './foundation/maybe-promise.ts';
import { serveWorkerMetrics } from './observability/worker-metrics.ts';

/** A worker that exits sooner after its start is restarted with increasing delay. */
const HEALTHY_AFTER = 10_000;
const FIRST_PAUSE = 100;
const MAX_PAUSE = 10_000;
/** Longer than a worker needs to finish requests in progress. */
const STOP_TIMEOUT = 15_000;

/** The worker processes. */
export interface Workers {
  /** Resolves with the port once all of them listen. Rejects if one exits before that. */
  listening: Promise<number>;
  /** Lets them finish requests in progress and exit. */
  stop(signal: NodeJS.Signals): void;
  /** Resolves when all have exited after `stop`. */
  ended: Promise<void>;
}

/** Starts `count` workers on one port and restarts any that exit. */
export function runWorkers(count: number, log: Logger): Workers {
  let stopping = false;
  let earlyExits = 0;
  const listening = deferred<number>();
  const ended = deferred();
  const ready = new Set<number>();
  // Workers accept connections themselves: a connection handed to a worker that was just killed would be
  // lost.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  serveWorkerMetrics(cluster);

  const start = () => {
    const began = performance.now();
    const worker = cluster.fork();
    worker.on('listening', ({ port }) => {
      ready.add(worker.id);
      if (ready.size === count) listening.resolve(port);
    });
    worker.on('exit', (code, signal) => void onExit(worker, code, signal, performance.now() - began));
  };

  const onExit = async (worker: Worker, code: number, signal: string | null, lived: number) => {
    if (stopping) {
      if (Object.keys(cluster.workers ?? {}).length === 0) ended.resolve();
      return;
    }
    // Has no effect once all of them listen.
    if (!ready.has(worker.id)) listening.reject(new Error(`A worker could not start (exit code ${code}).`));
    earlyExits = lived < HEALTHY_AFTER ? earlyExits + 1 : 0;
    const pause = earlyExits === 0 ? 0 : Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** (earlyExits - 1));
    log.error({ worker: worker.id, code, signal, pause }, 'a worker exited and will be replaced');
    await sleep(pause);
    if (!stopping) start();
  };

  for (let i = 0; i < count; i++) start();

  return {
    listening: listening.promise,
    ended: ended.promise,
    stop(signal) {
      if (stopping) return;
      stopping = true;
      const workers = Object.values(cluster.workers ?? {});
      if (workers.length === 0) ended.resolve();
      for (const worker of workers) worker?.process.kill(signal);
      setTimeout(() => {
        for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL');
      }, STOP_TIMEOUT).unref();
    },
  };
}
