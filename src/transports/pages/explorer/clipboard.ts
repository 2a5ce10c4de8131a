/** @returns whether the text was copied: browsers do not let pages loaded over plain HTTP from another machine */
export const copy = (text: string): Promise<boolean> =>
  Promise.resolve(navigator.clipboard?.writeText(text)).then(
    () => navigator.clipboard !== undefined,
    () => false,
  );
