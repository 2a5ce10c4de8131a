import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EventStreamClient } from '../kit/event-stream.ts';
import { printedKey, runKeys, type ServerProcess, startServer } from '../kit/process.ts';

/** How soon a stream must end, in milliseconds. */
const SOON = 5_000;

let home: string;
let settings: Record<string, string>;
let server: ServerProcess;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'petstore-streams-'));
  settings = { DATA_FILE: join(home, 'petstore.db') };
  server = await startServer(settings);
}, 60_000);
afterAll(async () => {
  server.child.kill('SIGKILL');
  await server.exited;
  rmSync(home, { recursive: true });
});

const create = (name: string) =>
  fetch(`${server.url}/categories`, {
    method: 'POST',
    headers: { 'x-api-key': printedKey(server), 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  });

type Open = (key: string) => Promise<EventStreamClient>;
const OVER_REST: Open = (key) => EventStreamClient.open({ url: server.url, key }, '/events/stream');
const OVER_GRAPHQL: Open = (key) =>
  EventStreamClient.open({ url: server.url, key }, '/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"query":"subscription { events { type } }"}',
  });

it.concurrent.each([
  ['GET /events/stream', OVER_REST],
  ['subscription { events }', OVER_GRAPHQL],
])(
  'a stream of %s ends with UNAUTHENTICATED within 5 seconds of the revocation of its key',
  {
    timeout: 60_000,
  },
  async (_name, open) => {
    const made = await runKeys(settings, 'create', '--name', 'reader', '--plan', 'free', '--json');
    const { id, key } = JSON.parse(made.stdout);
    const stream = await open(key);
    const other = await open(printedKey(server));
    expect((await runKeys(settings, 'revoke', id)).code).toBe(0);
    const began = performance.now();
    await stream.ended;
    expect(performance.now() - began).toBeLessThan(SOON);
    expect(stream.text).toContain('"code":"UNAUTHENTICATED"');
    await create('Still read by others');
    await other.until(1);
    expect(other.isOpen).toBe(true);
    other.close();
  },
);

it('streams end within 5 seconds of SIGTERM without a final event, and so does the process', {
  timeout: 60_000,
}, async () => {
  const opening = [OVER_REST, OVER_REST, OVER_GRAPHQL, OVER_GRAPHQL].map((open) => open(printedKey(server)));
  const streams = await Promise.all(opening);
  await create('Last');
  for (const stream of streams) await stream.until(1);
  const began = performance.now();
  server.child.kill('SIGTERM');
  for (const stream of streams) await stream.ended;
  expect(await server.exited).toBe(0);
  expect(performance.now() - began).toBeLessThan(SOON);
  // Without an error or `complete`, clients reconnect.
  for (const { messages } of streams) expect(messages).toHaveLength(1);
});
