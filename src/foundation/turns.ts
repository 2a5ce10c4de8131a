import { performance } from 'node:perf_hooks';

/** Work that waits for its turn, over all requests. */
const waiting: (() => void)[] = [];
/** Work that others wait for. It takes every other turn. */
const urgent: (() => void)[] = [];
let isUnderWay = false;
let wasUrgent = false;

/**
 * Runs work in a turn of the event loop that it shares with no other, so that requests, timers and
 * disconnects come in between. Node runs everything that is passed to `setImmediate` in one turn.
 *
 * @param isUrgent whether others wait for it, as for a transaction: it need not wait for all who came before
 */
export function inOwnTurn(work: () => void, isUrgent = false): void {
  (isUrgent ? urgent : waiting).push(work);
  if (isUnderWay) return;
  isUnderWay = true;
  setImmediate(next);
}

/** Resolves in a turn of its own. */
export const ownTurn = (): Promise<void> => new Promise((resolve) => inOwnTurn(resolve));

/** The same for work that others wait for. */
export const urgentTurn = (): Promise<void> => new Promise((resolve) => inOwnTurn(resolve, true));

function next(): void {
  wasUrgent = urgent.length > 0 && !(wasUrgent && waiting.length > 0);
  try {
    (wasUrgent ? urgent : waiting).shift()!();
  } finally {
    isUnderWay = urgent.length + waiting.length > 0;
    if (isUnderWay) setImmediate(next);
  }
}

/** How long work goes on before others get their turn, in milliseconds. */
export const MAX_TURN = 10;

/**
 * Divides what one request does into turns. Results are passed on one at a time, each with all that follows
 * from it at once, and other requests come in when that has taken MAX_TURN.
 */
export class Turns {
  readonly #check: () => void;
  readonly #isUrgent: boolean;
  readonly #results: (() => void)[] = [];
  readonly #reads: (() => void)[] = [];
  #isRunning = false;
  #began = 0;

  /**
   * @param check throws what ends the request, if nothing more is to be passed on
   * @param isUrgent whether others wait for the end of this request
   */
  constructor(check: () => void, isUrgent = false) {
    this.#check = check;
    this.#isUrgent = isUrgent;
  }

  /** Resolves when it is the turn of this result. */
  pass<T>(result: T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#results.push(() => {
        try {
          this.#check();
          resolve(result);
        } catch (error) {
          reject(error);
        }
      });
      this.#start();
    });
  }

  /** Begins a read when all results have been passed on, so that it reads for all of them. */
  read(begin: () => void): void {
    this.#reads.push(begin);
    this.#start();
  }

  #start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    inOwnTurn(this.#turn, this.#isUrgent);
  }

  readonly #turn = (): void => {
    this.#began = performance.now();
    this.#next();
  };

  #next(): void {
    const work = this.#results.shift() ?? this.#reads.shift();
    if (!work) {
      this.#isRunning = false;
      return;
    }
    work();
    // All that follows from it happens in microtasks, which end before a tick that one of them asked for.
    queueMicrotask(() => process.nextTick(this.#settled));
  }

  readonly #settled = (): void => {
    if (performance.now() - this.#began < MAX_TURN) this.#next();
    else inOwnTurn(this.#turn, this.#isUrgent);
  };
}
