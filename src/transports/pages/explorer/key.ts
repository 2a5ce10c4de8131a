import { MOUNT, Observable } from './browser.ts';
import { type Budget, budgetIn, messageOf, UNREACHABLE } from './responses.ts';

/** The state of the page's key. */
export type KeyState =
  | { kind: 'missing' | 'checking' }
  | { kind: 'accepted'; budget: Budget }
  | {
      kind: 'refused';
      message: string;
      /** Milliseconds since 1970, for a key under a temporary ban. */
      bannedUntil?: number;
      /** True if the same key will be refused again. */
      isFinal?: boolean;
    };

/** The name in session storage, which is gone when the tab closes. Links put a key there too (first-paint.ts). */
const STORAGE_NAME = 'petstore.key';

/** The API key shared by all pages and GraphiQL tabs. */
class ApiKey extends Observable<KeyState> {
  /** The key, or an empty string. */
  get value(): string {
    return sessionStorage.getItem(STORAGE_NAME) ?? '';
  }

  /** Sets the key and checks it. */
  async use(key: string): Promise<void> {
    if (key !== this.value) this.settle({ kind: 'checking' });
    sessionStorage.setItem(STORAGE_NAME, key);
    await this.check();
  }

  /** Checks the key with the server, free of charge. */
  async check(): Promise<void> {
    const key = this.value;
    const state = await stateOf(key, this.state);
    // Ignored if the key has changed since.
    if (key === this.value) this.settle(state);
  }

  /**
   * Sends a request with the key, unless it has one. Updates the budget from the response, and checks a refused key
   * again. @throws Error with a message for the user if there is no response
   */
  async fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const request = new Request(input, init);
    if (this.value !== '' && !request.headers.has('X-API-Key')) request.headers.set('X-API-Key', this.value);
    const response = await fetch(request).catch((error: Error) => {
      throw error.name === 'AbortError' ? error : new Error(UNREACHABLE);
    });
    if (response.status === 401) void this.check();
    if (this.state.kind === 'accepted') {
      const budget = budgetIn(response.headers, this.state.budget.plan);
      if (budget && !isOutdated(budget, this.state.budget)) this.settle({ kind: 'accepted', budget });
    }
    return response;
  }
}

/** True if a response came after a later one: within a day's window, the remainder only falls. */
const isOutdated = ({ day }: Budget, latest: Budget): boolean =>
  day.remaining > latest.day.remaining && day.resetAt < latest.day.resetAt + 60_000;

/** Checks a key with the server. @param former the state before */
async function stateOf(key: string, former: KeyState): Promise<KeyState> {
  if (key === '') return { kind: 'missing' };
  if (!/^[!-~]+$/.test(key))
    return { kind: 'refused', message: 'This is not an API key: keys are ASCII without spaces.' };
  const response = await fetch(`${MOUNT}/graphql/cost`, {
    method: 'POST',
    headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
    body: '{"query":"{__typename}"}',
  }).catch(() => undefined);
  if (!response) return { kind: 'refused', message: UNREACHABLE };
  const text = await response.text();
  const message = messageOf(text, response);
  const seconds = response.headers.get('retry-after');
  if (response.status === 403 && seconds !== null)
    return { kind: 'refused', message, bannedUntil: Date.now() + Number(seconds) * 1000 };
  // Keys that are bound to other documents, or exceed a limit, are valid too.
  const plan = response.ok ? JSON.parse(text).plan : former.kind === 'accepted' && former.budget.plan;
  const budget = budgetIn(response.headers, plan || undefined);
  return budget
    ? { kind: 'accepted', budget }
    : { kind: 'refused', message, isFinal: response.status === 401 };
}

export const apiKey = new ApiKey({ kind: 'checking' });

// Updates the time until the budget resets.
setInterval(() => apiKey.settle(apiKey.state), 1_000);

// A link with a key to the open page. The key is taken out of the address before the first paint.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#key=')) location.reload();
});
