/** The element with an id, which the page has. */
export const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

/** @returns whether the text was copied: browsers do not let pages loaded over plain HTTP from another machine */
export const copy = (text: string): Promise<boolean> =>
  Promise.resolve(navigator.clipboard?.writeText(text)).then(
    () => navigator.clipboard !== undefined,
    () => false,
  );

/** Has a state that others follow. */
export class Observable<State> {
  readonly #listeners = new Set<() => void>();
  #state: State;

  constructor(initial: State) {
    this.#state = initial;
  }

  get state(): State {
    return this.#state;
  }

  /** @returns a function to unsubscribe */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  settle(state: State): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}

/** Applies fixes, by the selectors of the elements that need them, to what libraries add to the page. */
export function fixWhenAdded(fixes: Record<string, (element: HTMLElement) => void>): void {
  let isDue = false;
  const fix = () => {
    isDue = false;
    for (const [selector, change] of Object.entries(fixes))
      for (const found of document.querySelectorAll<HTMLElement>(selector)) change(found);
  };
  new MutationObserver(() => {
    if (!isDue) requestAnimationFrame(fix);
    isDue = true;
  }).observe(document.body, { childList: true, subtree: true });
}
