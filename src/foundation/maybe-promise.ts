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
