import { performance } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/**
 * Resolves in a turn of the event loop that no other work shares, so that requests, timers and disconnects come in
 * between. Node runs everything that is passed to `setImmediate` in one turn.
 */
export function ownTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}

/** How long work goes on before others get their turn, in milliseconds. */
export const MAX_TURN = 10;

/**
 * Divides what one request does into turns: results are passed on one after the other, each with all that follows from
 * it at once, and other requests come in when that has taken MAX_TURN.
 */
export class Turns {
  readonly #check: () => void;
  readonly #reads: (() => void)[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #began = 0;

  /** @param check throws what ends the request, if nothing more is to be passed on */
  constructor(check: () => void) {
    this.#check = check;
  }

  /** Resolves when it is the turn of this result. */
  pass<T>(result: T): Promise<T> {
    const passed = this.#last.then(async () => {
      await this.#letOthersIn();
      this.#check();
      return result;
    });
    this.#last = passed.catch(() => {});
    return passed;
  }

  /** Begins a read when all results have been passed on, so that it reads for all of them. */
  async read(begin: () => void): Promise<void> {
    if (this.#reads.push(begin) > 1) return;
    for (let passed: unknown; passed !== this.#last;) {
      passed = this.#last;
      await passed;
      // What follows from the last result may bring others.
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
