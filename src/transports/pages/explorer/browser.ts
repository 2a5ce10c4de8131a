/** The path that the gateway is mounted at, on this origin. */
export const MOUNT = document.documentElement.dataset.mount!;

/** The element with an id, which must exist. */
export const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

/** Copies a text, and confirms it on the pressed button for 2 seconds. */
export async function copyBy(button: HTMLButtonElement, text: string): Promise<void> {
  button.dataset.label ??= button.textContent!;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    // The clipboard is not available over plain HTTP from another machine.
    button.textContent = 'Not allowed here';
  }
  setTimeout(() => (button.textContent = button.dataset.label!), 2_000);
}

/** An observable state. */
export class Observable<State> {
  readonly #listeners = new Set<() => void>();
  /** Changed only by `settle`. */
  state: State;

  constructor(initial: State) {
    this.state = initial;
  }

  /** @returns a function to unsubscribe */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  settle(state: State): void {
    this.state = state;
    for (const listener of this.#listeners) listener();
  }
}

/** Applies fixes to elements that libraries add to the page. @param fixes by the selector of elements */
export function fixWhenAdded(fixes: Record<string, (element: HTMLElement) => void>): void {
  let isDue = false;
  const fix = () => {
    isDue = false;
    for (const [selector, change] of Object.entries(fixes))
      for (const match of document.querySelectorAll<HTMLElement>(selector)) change(match);
  };
  new MutationObserver(() => {
    if (!isDue) requestAnimationFrame(fix);
    isDue = true;
  }).observe(document.body, { childList: true, subtree: true });
}
