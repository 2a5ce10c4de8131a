import { setImmediate as endOfTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import { unavailable } from '../../foundation/errors.ts';

/** A call that waits for its result. */
interface Call<A, R> {
  one: A;
  resolve(result: R): void;
  reject(error: unknown): void;
}

/**
 * Collects calls made within one turn of the event loop into one command. Many connections are read per turn,
 * and most of a command's cost is fixed.
 *
 * @param run handles a batch and returns the results in order, or an error instead of one
 */
export function batch<A, R>(
  run: (all: readonly A[]) => Promise<readonly (R | Error)[]>,
): (one: A) => Promise<R> {
  const loader = new DataLoader<A, R>(run, {
    cache: false,
    batchScheduleFn: (send) => void setImmediate(send),
  });
  return (one) => loader.load(one);
}

/** Makes calls with equal arguments within one turn of the event loop once, at its end. What they share is read only. */
export function shared<A, R>(call: (one: A) => Promise<R>): (one: A) => Promise<R> {
  const waiting = new Map<string, Promise<R>>();
  return (one) => {
    const key = JSON.stringify(one);
    const known = waiting.get(key);
    if (known) return known;
    const result = endOfTurn().then(() => {
      waiting.delete(key);
      return call(one);
    });
    waiting.set(key, result);
    return result;
  };
}

/**
 * Runs at most one command per name at a time. Calls that arrive meanwhile are gathered for the next one, as are
 * those of one turn of the event loop.
 *
 * @param run handles the calls of a name and returns the results in order
 * @param timeoutMs after which it has failed, in milliseconds. Otherwise those behind a command would wait for good
 *   if its connection ends while it is being sent: the driver (7.8) waits for `drain` of the destroyed socket
 */
export function gather<A, R>(
  run: (name: string, all: readonly A[]) => Promise<readonly R[]>,
  timeoutMs: number,
): (name: string, one: A) => Promise<R> {
  const waiting = new Map<string, Call<A, R>[]>();

  async function serve(name: string, calls: Call<A, R>[]): Promise<void> {
    while (calls.length > 0) {
      const served = calls.splice(0);
      try {
        const results = await within(
          timeoutMs,
          run(
            name,
            served.map(({ one }) => one),
          ),
        );
        for (const [i, { resolve }] of served.entries()) resolve(results[i]!);
      } catch (error) {
        // Calls that arrived since would wait for the same unavailable database and be carried out after they
        // have timed out.
        for (const { reject } of [...served, ...calls.splice(0)]) reject(error);
      }
    }
    waiting.delete(name);
  }

  return (name, one) =>
    new Promise((resolve, reject) => {
      let calls = waiting.get(name);
      if (!calls) {
        const first: Call<A, R>[] = [];
        waiting.set(name, first);
        setImmediate(() => void serve(name, first));
        calls = first;
      }
      calls.push({ one, resolve, reject });
    });
}

/** @throws UNAVAILABLE if the work takes longer */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(unavailable(new Error(`No response from the database within ${timeoutMs} ms.`)));
    const timer = setTimeout(late, timeoutMs).unref();
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}

/** Runs a command, now or when it is its turn. */
export type Send = <T>(command: () => Promise<T>) => Promise<T>;

/** Runs commands one after the other, whatever becomes of each. */
export function inTurn(): Send {
  let last: Promise<unknown> = Promise.resolve();
  return (command) => {
    const result = last.then(command);
    last = result.catch(() => {});
    return result;
  };
}
