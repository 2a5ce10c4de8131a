/** The error that a call throws or rejects with; undefined if it succeeds. */
export async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The code of that error; undefined if the call succeeds. */
export const codeOf = async (call: () => unknown): Promise<unknown> => {
  const error = await errorOf(call);
  if (error !== undefined && typeof (error as { code?: unknown }).code !== 'string') throw error;
  return (error as { code: string } | undefined)?.code;
};
