import { STORAGE_NAME, takeKey } from './key-link.ts';
import { Observable } from './observable.ts';
import { type Budget, budgetIn, budgetOf, describeFailure, UNREACHABLE } from './server.ts';

/** The state of the page's key. */
export type KeyState =
  | { kind: 'missing' | 'checking' }
  | { kind: 'accepted'; budget: Budget }
  | {
      kind: 'refused';
      message: string;
      /** Milliseconds since 1970, for a key under a temporary ban. */
      bannedUntil?: number;
    };

/** A query that costs nothing. */
const RATE_LIMIT_QUERY =
  '{ rateLimit { plan minute { limit remaining resetAt } day { limit remaining resetAt } refusalsUntilBan } }';

/** The API key shared by all pages and GraphiQL tabs. */
class ApiKey extends Observable {
  #state: KeyState = { kind: 'missing' };
  #checks = 0;
  /** The key checked last, whose state stays while it is checked again. */
  #checked: string | undefined;

  constructor() {
    super();
    // A link to the page that is open leads here without loading it anew.
    addEventListener('hashchange', () => {
      if (takeKey()) void this.check();
    });
  }

  /** The key, or an empty string. */
  get value(): string {
    return sessionStorage.getItem(STORAGE_NAME) ?? '';
  }

  get state(): KeyState {
    return this.#state;
  }

  /** Sets the key and checks it. */
  async use(key: string): Promise<void> {
    if (key === '') sessionStorage.removeItem(STORAGE_NAME);
    else sessionStorage.setItem(STORAGE_NAME, key);
    await this.check();
  }

  /** Checks the key with the server. */
  async check(): Promise<void> {
    const check = ++this.#checks;
    const settle = (state: KeyState) => {
      // Ignore the result if the key has changed meanwhile.
      if (check === this.#checks) this.#settle(state);
    };
    const key = this.value;
    if (key === '') return settle({ kind: 'missing' });
    if (!/^[!-~]+$/.test(key)) {
      return settle({
        kind: 'refused',
        message: 'This is not an API key: keys are ASCII without spaces.',
      });
    }
    if (this.#checked !== key) settle({ kind: 'checking' });
    this.#checked = key;
    try {
      const response = await fetch('/graphql', {
        method: 'POST',
        headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: RATE_LIMIT_QUERY }),
      });
      if (response.ok) {
        const { data } = await response.json();
        return settle({ kind: 'accepted', budget: budgetOf(data.rateLimit) });
      }
      const message =
        response.status === 401
          ? 'Unknown API key. Check that it is complete and not revoked.'
          : await describeFailure(response);
      const seconds = Number(response.headers.get('retry-after') ?? 0);
      const isBanned = response.status === 403 && seconds > 0;
      settle({
        kind: 'refused',
        message,
        ...(isBanned && { bannedUntil: Date.now() + seconds * 1000 }),
      });
    } catch (error) {
      settle({ kind: 'refused', message: await describeFailure(error) });
    }
  }

  /**
   * Sends a request with the key, unless it has one. Updates the budget from the response, and checks the key again
   * if it was refused. @throws Error with a message for the user if there is no response
   */
  async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    if (this.value !== '' && !request.headers.has('X-API-Key')) request.headers.set('X-API-Key', this.value);
    const response = await fetch(request).catch((error: Error) => {
      throw error.name === 'AbortError' ? error : new Error(UNREACHABLE);
    });
    if (response.status === 401) void this.check();
    if (this.#state.kind === 'accepted') {
      const budget = budgetIn(response.headers, this.#state.budget);
      if (budget) this.#settle({ kind: 'accepted', budget });
    }
    return response;
  }

  #settle(state: KeyState): void {
    this.#state = state;
    this.changed();
  }
}

export const apiKey = new ApiKey();
