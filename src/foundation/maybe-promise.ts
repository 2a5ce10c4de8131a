/** A value that may be available at once, so that the synchronous embedded engine doesn't pay for promises. */
export type MaybePromise<T> = T | Promise<T>;

/** Applies `next` to a value, synchronously if it is available. */
export const andThen = <T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> => (value instanceof Promise ? value.then(next) : next(value));

/** Runs `work` and passes any error to `recover`, whether thrown or rejected. */
export function attempt<T>(
  work: () => MaybePromise<T>,
  recover: (error: unknown) => MaybePromise<T>,
): MaybePromise<T> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(recover) : value;
  } catch (error) {
    return recover(error);
  }
}

/** A promise and the function that resolves it, like Promise.withResolvers of Node 22. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
