import { type Budget, budgetOf, describeFailure } from './server.ts';

/** What is known about the key that the pages send. */
export type KeyState =
  | { kind: 'missing' | 'checking' }
  | { kind: 'accepted'; budget: Budget }
  | { kind: 'refused'; message: string };

/** Kept for the session of the browser: gone with its last tab, never written to disk, never in an address. */
const STORAGE_NAME = 'petstore.key';

/** Costs nothing. */
const ASK = '{ rateLimit { plan minute { limit remaining resetAt } day { limit remaining resetAt } } }';

/** The one API key of all pages and tabs of GraphiQL. */
class ApiKey {
  #state: KeyState = { kind: 'missing' };
  #checks = 0;
  readonly #listeners = new Set<() => void>();

  /** The key itself; empty if there is none. A development start offers one of its own. */
  get value(): string {
    return sessionStorage.getItem(STORAGE_NAME) ?? document.body.dataset.developmentKey ?? '';
  }

  get state(): KeyState {
    return this.#state;
  }

  /** Takes a key and asks the server whose it is. */
  async use(key: string): Promise<void> {
    if (key === '') sessionStorage.removeItem(STORAGE_NAME);
    else sessionStorage.setItem(STORAGE_NAME, key);
    await this.check();
  }

  /** Asks the server about the key again. */
  async check(): Promise<void> {
    const check = ++this.#checks;
    const settle = (state: KeyState) => {
      // A later key has a later answer.
      if (check !== this.#checks) return;
      this.#state = state;
      for (const listener of this.#listeners) listener();
    };
    const key = this.value;
    if (key === '') return settle({ kind: 'missing' });
    if (!/^[!-~]+$/.test(key)) {
      return settle({
        kind: 'refused',
        message: 'That is no API key: keys have no spaces and no letters beyond ASCII.',
      });
    }
    settle({ kind: 'checking' });
    try {
      const response = await fetch('/graphql', {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: ASK }),
      });
      if (response.ok) {
        const { data } = await response.json();
        return settle({ kind: 'accepted', budget: budgetOf(data.rateLimit) });
      }
      const message =
        response.status === 401
          ? 'The server does not know this key. Check that it is complete and not revoked.'
          : await describeFailure(response);
      settle({ kind: 'refused', message });
    } catch (error) {
      settle({ kind: 'refused', message: await describeFailure(error) });
    }
  }

  /** @returns a function that ends it */
  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export const apiKey = new ApiKey();
