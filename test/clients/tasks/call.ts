import { setTimeout as sleep } from 'node:timers/promises';

/** Sends a request, and sends it again after a 429 or 503 once its Retry-After has passed. */
export async function call(url: string, init: RequestInit = {}, attempts = 5): Promise<Response> {
  const response = await fetch(url, init);
  const wait = Number(response.headers.get('Retry-After'));
  if (![429, 503].includes(response.status) || attempts <= 1) return response;
  await sleep(wait * 1000);
  return call(url, init, attempts - 1);
}
