/** The element with an id, which the page has. */
export const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

/** @returns whether the text was copied: browsers do not let pages loaded over plain HTTP from another machine */
export const copy = (text: string): Promise<boolean> =>
  Promise.resolve(navigator.clipboard?.writeText(text)).then(
    () => navigator.clipboard !== undefined,
    () => false,
  );

/** Has a state that others follow. */
export abstract class Observable {
  readonly #listeners = new Set<() => void>();

  /** @returns a function to unsubscribe */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  protected changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
