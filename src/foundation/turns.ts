/*
 * Timeline of one request's results and reads:
 *
 *   arrived  A result was given to `pass`, and is chained behind earlier results.
 *   passed   Its promise resolves, and everything that follows from it runs at once. If the request has run for MAX_TURN,
 *            it first yields a turn of the event loop to others.
 *   asked    A read was given to `read`. The first one watches the chain; later ones join it.
 *   begun    The chain is at its end, and a whole turn has added nothing to it: all requested reads begin together, so
 *            that one database command can serve them.
 *
 * Once the request has ended, `check` throws, and remaining results are rejected with that error.
 */

import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop of its own, so that requests, timers and disconnects get in between callers.
 * Node alone would run everything passed to `setImmediate` in one turn.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}

/** The time that work may run before it yields, in milliseconds. */
export const MAX_TURN = 2;

/**
 * Divides the work of one request into turns. Results are passed on one at a time, each with everything that follows
 * from it, and other requests get a turn after every MAX_TURN.
 */
export class Turns {
  readonly #check: () => void;
  readonly #reads: (() => void)[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #began = 0;

  /** @param check throws the error that ended the request, if any */
  constructor(check: () => void) {
    this.#check = check;
  }

  /** Resolves with the result when its turn has come. */
  pass<T>(result: T): Promise<T> {
    const passed = this.#last.then(async () => {
      await this.#letOthersIn();
      this.#check();
      return result;
    });
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
      await ownTurn();
    }
    for (const next of this.#reads.splice(0)) {
      await this.#letOthersIn();
      next();
    }
  }

  async #letOthersIn(): Promise<void> {
    if (performance.now() - this.#began < MAX_TURN) return;
    await ownTurn();
    this.#began = performance.now();
  }
}
