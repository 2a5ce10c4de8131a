import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { serveWorkerMetrics } from './observability/worker-metrics.ts';

/** A worker that ends sooner than this after its start is started again later each time. */
const HEALTHY_AFTER = 10_000;
const FIRST_PAUSE = 100;
const MAX_PAUSE = 10_000;
/** More than a worker takes to finish what is under way. */
const STOP_TIMEOUT = 15_000;

/** The processes that serve. */
export interface Workers {
  /** Resolves with the port once all of them listen; rejects if one ends before it does. */
  listening: Promise<number>;
  /** Lets them finish what is under way and end. */
  stop(signal: NodeJS.Signals): void;
  /** Resolves when all have ended after `stop`. */
  ended: Promise<void>;
}

/** Starts this program `count` times more, all on one port, and again whenever one of them ends. */
export function runWorkers(count: number, log: Logger): Workers {
  let stopping = false;
  let earlyExits = 0;
  const listening = deferred<number>();
  const ended = deferred<void>();
  const ready = new Set<number>();
  // Workers take connections themselves: what is handed to one by this process is lost if that one has just been killed.
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
    // Of no effect once they all listen.
    if (!ready.has(worker.id)) listening.reject(new Error(`A worker could not start (exit code ${code}).`));
    earlyExits = lived < HEALTHY_AFTER ? earlyExits + 1 : 0;
    const pause = earlyExits === 0 ? 0 : Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** (earlyExits - 1));
    log.error({ worker: worker.id, code, signal, pause }, 'a worker ended; another one takes its place');
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

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((...settle) => {
    [resolve, reject] = settle;
  });
  return { promise, resolve, reject };
}
