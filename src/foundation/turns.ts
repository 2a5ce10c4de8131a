/*
 * Timeline of one request's results and reads:
 *
 *   arrived  A result was given to `pass`, and is chained behind earlier results.
 *   passed   Its promise resolves, and everything that follows from it runs at once. If MAX_TURN is over, others run first.
 *   asked    A read was given to `read`. The first one watches the chain; later ones join it.
 *   begun    The chain is at its end, and a whole turn of the event loop has added nothing to it: all requested reads begin
 *            together, so that one database command can serve them.
 *
 * Once the request has ended, `check` throws, and remaining results are rejected with that error.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

/** A value that may be available at once, so that the synchronous embedded engine doesn't pay for promises. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to a value, synchronously if it is available. */
export const andThen = <T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> => (value instanceof Promise ? value.then(next) : next(value));

/** A promise and the function that resolves it, like Promise.withResolvers of Node 22. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/**
 * The time that all work in turns may take before others get in between, in milliseconds. Less would cost noticeably more
 * turns of the event loop.
 */
export const MAX_TURN = 0.5;

let last: Promise<void> = Promise.resolve();
let began = -Infinity;

const isOver = (): boolean => performance.now() - began >= MAX_TURN;

/**
 * Resolves when work that may take long can begin: after the work that asked before, and not until requests, timers and
 * disconnects have got in between if that has taken MAX_TURN. Node alone would run all of it in one turn of the event loop.
 */
export function ownTurn(): Promise<void> {
  last = last.then(async () => {
    // What follows from the turn before runs first.
    await new Promise<void>(process.nextTick);
    if (!isOver()) return;
    await setImmediate();
    began = performance.now();
  });
  return last;
}

/** Yields to others if MAX_TURN is over. */
export const letOthersIn = (): Promise<void> | undefined => (isOver() ? ownTurn() : undefined);

/**
 * Divides the work of one request into turns. Results are passed on one at a time, each with everything that follows
 * from it, and others run after every MAX_TURN.
 */
export class Turns {
  readonly #check: () => void;
  readonly #reads: (() => void)[] = [];
  #last: Promise<unknown> = Promise.resolve();

  /** @param check throws the error that ended the request, if any */
  constructor(check: () => void) {
    this.#check = check;
  }

  /** Resolves with the result when its turn has come. */
  pass<T>(result: T): Promise<T> {
    const passed = this.#last.then(() =>
      andThen(letOthersIn(), () => {
        this.#check();
        return result;
      }),
    );
    this.#last = passed.catch(() => {});
    return passed;
  }

  /** Starts a read once all results have been passed on, so that it covers everything they need. */
  async read(begin: () => void): Promise<void> {
    if (this.#reads.push(begin) > 1) return;
    for (let passed: unknown; passed !== this.#last;) {
      passed = this.#last;
      await passed;
      // Handling the last result may produce more.
      await setImmediate();
    }
    for (const next of this.#reads.splice(0)) {
      await letOthersIn();
      next();
    }
  }
}
