import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventStreamClient } from '../kit/event-stream.ts';
import { printedKey, runKeys, type ServerProcess, startServer } from '../kit/process.ts';

/** How soon a stream must end, in milliseconds. */
const SOON = 5_000;

let home: string;
let settings: Record<string, string>;
let server: ServerProcess;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'petstore-streams-'));
  settings = { DATA_FILE: join(home, 'petstore.db') };
  server = await startServer(settings);
}, 60_000);
afterEach(async () => {
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

describe.each<[string, (key: string) => Promise<EventStreamClient>]>([
  ['GET /events/stream', (key) => EventStreamClient.open({ url: server.url, key }, '/events/stream')],
  [
    'subscription { events }',
    (key) =>
      EventStreamClient.open({ url: server.url, key }, '/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"query":"subscription { events { type } }"}',
      }),
  ],
])('an open stream of %s', (_name, open) => {
  it('ends within 5 seconds of SIGTERM without a final event, and so does the process', {
    timeout: 60_000,
  }, async () => {
    const streams = [await open(printedKey(server)), await open(printedKey(server))];
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

  it('ends with UNAUTHENTICATED within 5 seconds of the revocation of its key', {
    timeout: 60_000,
  }, async () => {
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
  });
});
