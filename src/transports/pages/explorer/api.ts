import { element } from './element.ts';
import { parseExactly } from './exact-json.ts';
import { apiKey } from './key.ts';
import { errorMessage, secondsUntilLeft } from './server.ts';
import { number } from './words.ts';

/** Why a call failed, in words for the reader. */
export class CallFailed extends Error {
  readonly status: number;
  /** Whether it would pass later, as after a ban. */
  readonly isTemporary: boolean;

  constructor(message: string, status: number, isTemporary = true) {
    super(message);
    this.status = status;
    this.isTemporary = isTemporary;
  }
}

const base = (): string => element('main').dataset.base!;

/**
 * Calls a REST operation with the page's key.
 *
 * @returns the parsed body; undefined if there is none
 * @throws CallFailed
 */
export async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await request(method, path, {
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    }),
  });
  const text = await response.text();
  return (text === '' ? undefined : parseExactly(text)) as T;
}

/**
 * Sends a request with the page's key, unless nothing is left to pay for it: that would be a strike, and the
 * page itself would get the key banned. @throws CallFailed unless it succeeds
 */
export async function request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const { state } = apiKey;
  const wait = state.kind === 'accepted' ? secondsUntilLeft(state.budget, Date.now()) : 0;
  if (wait > 0) throw new CallFailed(`Nothing is left of the budget for ${number(wait)} s.`, 429);
  const response = await apiKey.fetch(base() + path, { ...init, method });
  if (response.ok) return response;
  const isTemporary = response.headers.has('retry-after');
  throw new CallFailed(errorMessage(await response.text(), response), response.status, isTemporary);
}

/** Says what is missing when a part of the console cannot be shown. */
export function reason(error: unknown): string {
  if (!(error instanceof CallFailed)) return (error as Error).message;
  if (error.status === 403 && !error.isTemporary) return `This key does not permit it: ${error.message}`;
  if (error.status === 404) return 'This server does not offer it.';
  return error.message;
}
