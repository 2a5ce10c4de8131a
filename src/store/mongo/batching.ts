import { setImmediate as endOfTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import { unavailable } from '../../foundation/errors.ts';

/**
 * Collects the calls of one turn of the event loop into one command, equal ones once. Many connections are read per turn,
 * and most of a command's cost is fixed. Results shared by equal calls are read-only.
 *
 * @param run handles a batch and returns the results in order, or an error in place of one
 */
export function batch<A, R>(
  run: (all: readonly A[]) => Promise<readonly (R | Error)[]>,
): (one: A) => Promise<R> {
  const loader = new DataLoader<A, R, string>(
    (all) => {
      loader.clearAll();
      return run(all);
    },
    { cacheKeyFn: (one) => JSON.stringify(one), batchScheduleFn: (send) => void setImmediate(send) },
  );
  return (one) => loader.load(one);
}

/**
 * Runs at most one command per name at a time. Calls that arrive meanwhile are gathered for the next one, as are those of
 * one turn of the event loop. If a command fails, so do the calls gathered behind it, which would otherwise wait for the
 * same unavailable database and be carried out after they have timed out.
 *
 * @param run handles the calls of a name and returns the results in order
 * @param timeoutMs the time after which a command has failed, in milliseconds. Without it, calls behind a command would
 *   wait forever if its connection ends while it is being sent: the driver (7.8) waits for `drain` of the destroyed socket
 */
export function gather<A, R>(
  run: (name: string, all: readonly A[]) => Promise<readonly R[]>,
  timeoutMs: number,
): (name: string, one: A) => Promise<R> {
  interface Command {
    calls: A[];
    isSent: boolean;
    results: Promise<readonly R[]>;
  }
  const latest = new Map<string, Command>();

  function next(name: string, before: Promise<unknown> = endOfTurn()): Command {
    const send = () => {
      command.isSent = true;
      return within(timeoutMs, run(name, command.calls));
    };
    const forget = () => latest.get(name) === command && latest.delete(name);
    const command: Command = { calls: [], isSent: false, results: before.then(send).finally(forget) };
    latest.set(name, command);
    return command;
  }

  return async (name, one) => {
    let command = latest.get(name);
    if (!command || command.isSent) command = next(name, command?.results);
    const i = command.calls.push(one) - 1;
    return (await command.results)[i]!;
  };
}

/** Bounds the time of some work. @throws UNAVAILABLE if it takes longer */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(unavailable(new Error(`No response from the database within ${timeoutMs} ms.`)));
    const timer = setTimeout(late, timeoutMs).unref();
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
