import { setImmediate as endOfTurn } from 'node:timers/promises';
import DataLoader from 'dataloader';
import { unavailable } from '../../foundation/errors.ts';

/**
 * Combines the calls of one turn of the event loop into one command, equal calls once: most of a command's cost is
 * fixed. Results are read-only, since equal calls share them.
 *
 * @param run handles a batch and returns the results in order, or an error in place of a result
 */
export function batchByTurn<A, R>(
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
 * Runs at most one command per name at a time. Calls of one turn of the event loop, or that arrive while a command
 * runs, are combined for the next one. If a command fails, so do the calls behind it: they would wait for the same
 * unavailable database and then run after they have timed out.
 *
 * @param run handles the calls of a name and returns the results in order
 * @param timeoutMs the time after which a command has failed, in milliseconds. Without it, calls could wait forever
 * behind a command whose connection ends while it is sent: the driver (7.8) waits for `drain` of the destroyed socket
 */
export function oneCommandAtATime<A, R>(
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

/** Limits the duration of work. @throws UNAVAILABLE if it takes longer */
export function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(unavailable(new Error(`No response from the database within ${timeoutMs} ms.`)));
    const timer = setTimeout(late, timeoutMs).unref();
    work.finally(() => clearTimeout(timer)).then(resolve, reject);
  });
}
