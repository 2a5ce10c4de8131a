/** A value that may be there at once: the embedded engine answers without a promise, and need not pay for one. */
export type MaybePromise<T> = T | Promise<T>;

/** `next` of a value: at once if it is there, else when it comes. */
export const andThen = <T, R>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> => (value instanceof Promise ? value.then(next) : next(value));

/** What `work` comes to, or `recover` for what it throws, be it at once or later. */
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
