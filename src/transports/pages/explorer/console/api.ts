import { parseExactly } from '../exact-json.ts';
import { apiKey } from '../key.ts';
import { errorMessage, UNREACHABLE } from '../server.ts';

/** Why a call failed, in words for the reader. */
export class CallFailed extends Error {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

const base = (): string => document.getElementById('main')!.dataset.base!;

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

/** Sends a request with the page's key. @throws CallFailed unless it succeeds */
export async function request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...(init.headers as Record<string, string>), 'X-API-Key': apiKey.value };
  let response: Response;
  try {
    response = await fetch(base() + path, { ...init, method, headers });
  } catch (error) {
    if ((error as Error).name === 'AbortError') throw error;
    throw new CallFailed(UNREACHABLE, 0);
  }
  apiKey.observe(response);
  if (response.ok) return response;
  throw new CallFailed(errorMessage(await response.text(), response), response.status);
}

/** Says what is missing when a part of the console cannot be shown. */
export function reason(error: unknown): string {
  if (!(error instanceof CallFailed)) return String(error);
  if (error.status === 403) return `This key does not permit it: ${error.message}`;
  if (error.status === 404) return 'This server does not offer it.';
  return error.message;
}
