import { element, MOUNT } from '../browser.ts';
import { apiKey } from '../key.ts';
import { messageOf, secondsUntilLeft } from '../responses.ts';
import { grouped } from '../../../../foundation/words.ts';

/** Seconds until the key has budget again; 0 if it has some now. */
export const secondsUntilBudget = (): number =>
  apiKey.state.kind === 'accepted' ? secondsUntilLeft(apiKey.state.budget) : 0;

/** Calls a REST operation with the page's key. @returns the parsed body; undefined if empty */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const response = await request(method, path, {
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'Content-Type': type } }),
  });
  const text = await response.text();
  return (text === '' ? undefined : JSON.parse(text)) as T;
}

/**
 * Sends a request with the page's key, unless the budget is used up: the page itself could otherwise get the key
 * banned. @throws Error with a message for the user, unless it succeeds
 */
export async function request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const wait = secondsUntilBudget();
  if (wait > 0) throw new Error(`Nothing is left of the budget for ${grouped(wait)} s.`);
  const response = await apiKey.fetch(MOUNT + element('main').dataset.base + path, { ...init, method });
  if (response.ok) return response;
  throw new Error(messageOf(await response.text(), response));
}
