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
