import { join } from 'node:path';
import { Category } from '../../src/domains/category/category.ts';
import {
  aliases,
  ask,
  conclude,
  expectAtMost,
  get,
  type MeasuredServer,
  post,
  type RawRequest,
  send,
  temporaryFolder,
  withServer,
} from './harness.ts';
import { fillFile, unlimitedKey } from './seed.ts';

/**
 * `npm run memory`: how much memory the largest answers hold while they are made, on the built gateway, for text of
 * several scripts, since a character takes one byte in memory, two or four. Exit code 1 if one holds more than 32 MB.
 * Garbage is not counted.
 */
const SCRIPTS = { 'Latin-1': 'é', Cyrillic: 'ж', CJK: '漢', 'combining marks': 'e\u0301', emoji: '😀' };
const MAX_MEGABYTES = 32;
const PAGE = 100;
const PAGES = 50;

const query = (fields: string): RawRequest => post('/graphql', { query: `{ ${fields} }` });
const tool = (fields: string): RawRequest => {
  const params = { name: 'graphql', arguments: { query: `{ ${fields} }` } };
  return post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
};

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
  const events = (count: number): string =>
    aliases(count, (n) => `events(first: ${PAGE}, after: "${places[n]}") { nodes { data } }`);
  const batch = Array.from({ length: 10 }, (_, n) => ({ query: `{ ${pages(5 * n, 5 * n + 5)} }` }));
  const descriptions = `categories(first: ${PAGE}) { nodes { ${aliases(62, 'description')} } }`;
  return {
    '50 pages of events': query(events(PAGES)),
    '25 pages of events and 24 of categories': query(
      `${events(25)} ${pages(0, 24).replaceAll(/a(\d+):/g, 'b$1:')}`,
    ),
    '24 pages of categories': query(pages(0, 24)),
    '50 pages of categories': query(pages(0, PAGES)),
    'a batch of 10 x 5 pages': post('/graphql', batch),
    'an answer of 10 units, sent as a whole': query(pages(0, 10)),
    '62 descriptions of 100 categories': query(descriptions),
    'the same by MCP': tool(descriptions),
    '24 pages of categories by MCP': tool(pages(0, 24)),
    'GET /categories': get(`/categories?limit=${PAGE}`),
    'GET /events': get(`/events?limit=${PAGE}`),
    'GET /categories as lines': get('/categories', { accept: 'application/x-ndjson' }),
  };
}

const home = temporaryFolder();
console.log('| script | request | status | MB sent | MB held |\n|---|---|--:|--:|--:|');
for (const [script, character] of Object.entries(SCRIPTS)) {
  const file = join(home, `${script}.db`);
  const { key, places } = await fill(file, character);
  const held = ['--import', './test/bench/held.mjs', 'dist/main.js'];
  await withServer({ DATA_FILE: file }, (server) => measure(script, server, key, places), held);
}
conclude();

/** A file with categories whose texts are as long as they may be. */
function fill(file: string, character: string) {
  return fillFile(file, async (store) => {
    for (let from = 0; from < PAGE * PAGES; from += 500)
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
    return { key: await unlimitedKey(store), places };
  });
}

async function measure(
  script: string,
  { url, child }: MeasuredServer,
  key: string,
  places: readonly string[],
): Promise<void> {
  for (const [index, name] of Object.keys(requestsFor(places, 0)).entries()) {
    // Compiles the code. The pages measured are asked for the first time, so they are in no cache.
    for (let time = 1; time <= 2; time++) await send(url, requestsFor(places, PAGE / 2 - index)[name]!, key);
    const request = requestsFor(places, index)[name]!;
    await ask(child, 'begin');
    const { status, text } = await send(url, request, key);
    const held = (await ask<number>(child, 'end')) / 1e6;
    const sent = Buffer.byteLength(text) / 1e6;
    console.log(`| ${script} | ${name} | ${status} | ${sent.toFixed(1)} | ${held.toFixed(1)} |`);
    expectAtMost(`MB held for ${name} in ${script}`, held, MAX_MEGABYTES);
  }
}
