import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Category } from '../../src/domains/category/category.ts';
import { RECORDS } from '../../src/domains/index.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { freePort } from '../kit/mongo.ts';
import type { RawRequest } from './attacks.ts';
import { release, unlimitedKey } from './seed.ts';

/**
 * `npm run memory`: how much memory the largest answers hold while they are made, on the built gateway, for text of
 * several scripts, since a character takes one byte in memory, two or four. Exit code 1 if one holds more than 32 MB.
 * Garbage is not counted.
 */
const SCRIPTS = { 'Latin-1': 'é', Cyrillic: 'ж', CJK: '漢', 'combining marks': 'e\u0301', emoji: '😀' };
const MAX_MEGABYTES = 32;
const PAGE = 100;
const PAGES = 50;
const COUNT = PAGE * PAGES;

const aliases = (count: number, field: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field(n)}`).join(' ');
const post = (parameters: unknown): RawRequest => ({
  method: 'POST',
  path: '/graphql',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(parameters),
});
const tool = (query: string): RawRequest => ({
  ...post({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'graphql', arguments: { query } } }),
  path: '/mcp',
});
const get = (path: string, headers: Record<string, string> = {}): RawRequest => ({
  method: 'GET',
  path,
  headers,
});

/**
 * @param places in the event log, a page apart
 * @param shift records to begin after: other pages are other queries for the caches
 */
function requestsFor(places: readonly string[], shift: number): Record<string, RawRequest> {
  const pages = (from: number, to: number): string =>
    aliases(
      to - from,
      (n) => `categories(first: ${PAGE}, after: "${(from + n) * PAGE + shift}") { nodes { description } }`,
    );
  return {
    '50 pages of events': post({
      query: `{ ${aliases(PAGES, (n) => `events(first: ${PAGE}, after: "${places[n]}") { nodes { data } }`)} }`,
    }),
    '25 pages of events and 24 of categories': post({
      query: `{ ${aliases(25, (n) => `events(first: ${PAGE}, after: "${places[n]}") { nodes { data } }`)} ${pages(0, 24).replaceAll(/a(\d+):/g, 'b$1:')} }`,
    }),
    '24 pages of categories': post({ query: `{ ${pages(0, 24)} }` }),
    '50 pages of categories': post({ query: `{ ${pages(0, PAGES)} }` }),
    'a batch of 10 x 5 pages': post(
      Array.from({ length: 10 }, (_, n) => ({ query: `{ ${pages(5 * n, 5 * n + 5)} }` })),
    ),
    'an answer of 10 units, sent as a whole': post({ query: `{ ${pages(0, 10)} }` }),
    '62 descriptions of 100 categories': post({
      query: `{ categories(first: ${PAGE}) { nodes { ${aliases(62, () => 'description')} } } }`,
    }),
    'the same by MCP': tool(
      `{ categories(first: ${PAGE}) { nodes { ${aliases(62, () => 'description')} } } }`,
    ),
    '24 pages of categories by MCP': tool(`{ ${pages(0, 24)} }`),
    'GET /categories': get(`/categories?limit=${PAGE}`),
    'GET /events': get(`/events?limit=${PAGE}`),
    'GET /categories as lines': get('/categories', { accept: 'application/x-ndjson' }),
  };
}

// So that what is registered for the end is done then too.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const home = mkdtempSync(join(tmpdir(), 'petstore-memory-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true }));
console.log('| script | request | status | MB sent | MB held |\n|---|---|--:|--:|--:|');
for (const [script, character] of Object.entries(SCRIPTS)) {
  const { file, key, places } = await fill(script, character);
  await measure(script, file, key, (shift) => requestsFor(places, shift));
}

/** A file with categories whose texts are as long as they may be. */
async function fill(
  script: string,
  character: string,
): Promise<{ file: string; key: string; places: string[] }> {
  const filled = join(home, 'filled.db');
  const store = openSqliteStore({ records: RECORDS, file: filled, role: 'server' });
  for (let from = 0; from < COUNT; from += 500)
    await Promise.all(
      Array.from({ length: 500 }, (_, n) =>
        store.table(Category).insert({
          name: `${from + n}`,
          description: `${from + n}`.padStart(5) + character.repeat(1_995 / [...character].length),
        }),
      ),
    );
  let { next } = store.eventPage({ limit: 1 });
  const places = [next];
  while (places.length < PAGES) {
    ({ next } = store.eventPage({ limit: PAGE, after: next }));
    places.push(next);
  }
  const key = await unlimitedKey(store);
  store.close();
  const file = join(home, `${script}.db`);
  release(filled, file);
  for (const end of ['', '-wal', '-shm', '.lock']) rmSync(filled + end, { force: true });
  return { file, key, places };
}

async function measure(
  script: string,
  file: string,
  key: string,
  requestsWith: (shift: number) => Readonly<Record<string, RawRequest>>,
): Promise<void> {
  const port = await freePort();
  const child = fork('dist/main.js', {
    execArgv: ['--import', fileURLToPath(new URL('held.mjs', import.meta.url))],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, NODE_ENV: 'production', SAMPLE_DATA: 'off', PORT: String(port), DATA_FILE: file },
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ask = async (message: string): Promise<number> => {
    child.send(message);
    const [bytes] = await once(child, 'message');
    return bytes / 1e6;
  };
  const send = async ({
    method,
    path,
    headers,
    body,
  }: RawRequest): Promise<{ status: number; bytes: number }> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...headers, 'x-api-key': key },
      ...(body !== undefined && { body }),
    });
    let bytes = 0;
    for await (const chunk of response.body!) bytes += chunk.length;
    return { status: response.status, bytes };
  };
  try {
    while (
      !(await send(get('/health/ready')).then(
        ({ status }) => status === 200,
        () => false,
      ))
    )
      await sleep(50);
    for (const [index, name] of Object.keys(requestsWith(0)).entries()) {
      // Compiles the code. The pages measured are asked for the first time, so they are in no cache.
      for (let time = 1; time <= 2; time++) await send(requestsWith(PAGE / 2 - index)[name]!);
      const request = requestsWith(index)[name]!;
      await ask('begin');
      const { status, bytes } = await send(request);
      const held = await ask('end');
      console.log(`| ${script} | ${name} | ${status} | ${(bytes / 1e6).toFixed(1)} | ${held.toFixed(1)} |`);
      if (held > MAX_MEGABYTES) process.exitCode = 1;
    }
  } finally {
    kill();
    process.off('exit', kill);
  }
}
