/** A call, or its promise. */
type Call = Promise<unknown> | (() => unknown);

/** The error that a call throws or rejects with; undefined if it succeeds. */
export const errorOf = (call: Call): Promise<unknown> =>
  (async () => (typeof call === 'function' ? call() : call))().then(
    () => undefined,
    (error: unknown) => error,
  );

/** The code of the error of a call; undefined if it succeeds. @throws errors without a code */
export const codeOf = async (call: Call): Promise<string | undefined> => {
  const error = await errorOf(call);
  if (error !== undefined && typeof (error as { code?: unknown }).code !== 'string') throw error;
  return (error as { code: string } | undefined)?.code;
};
