import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../kit/folder.ts';
import { endServer, printedKey, startServer } from '../../kit/process.ts';

const home = temporaryFolder();

it('the log of requests loses what was answered in the last second before a kill, and nothing else', async () => {
  const settings = { DATA_FILE: join(home, 'petstore.db') };
  const first = await startServer(settings);
  const headers = { 'x-api-key': printedKey(first) };
  const answered: { id: string; at: number }[] = [];
  while (answered.length < 50) {
    const response = await fetch(`${first.url}/pets/1`, { headers });
    await response.text();
    answered.push({ id: response.headers.get('x-request-id')!, at: performance.now() });
    await delay(80);
  }
  const killedAt = performance.now();
  await endServer(first);
  const second = await startServer(settings);
  const response = await fetch(`${second.url}/requests?limit=100`, { headers });
  const kept = new Set(((await response.json()) as { id: string }[]).map(({ id }) => id));
  await endServer(second, 'SIGTERM');
  const lost = answered.filter(({ id }) => !kept.has(id));
  // The interval, and the time that a busy machine takes to write.
  for (const { at } of lost) expect(killedAt - at).toBeLessThan(2_000);
  expect(answered.length - lost.length).toBeGreaterThan(20);
  // What is kept is without gaps: all that is lost came last.
  expect(answered.slice(answered.length - lost.length)).toEqual(lost);
});
