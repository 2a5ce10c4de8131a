import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { api } from '../../src/api.ts';
import { Category } from '../../src/domains/category/category.ts';
import { EventFeed, type FeedEvent, type WantedEvents } from '../../src/events/feed.ts';
import { eventsGone, unavailable } from '../../src/foundation/errors.ts';
import { deferred } from '../../src/foundation/turns.ts';
import { type EventStore, FOLLOW_WAIT, NOW } from '../../src/store/events.ts';
import type { Store } from '../../src/store/store.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

let opened: OpenedStore;
let store: Store;
/** One function for each time the log was followed, in order: ends the log for that follower. */
let endFollowing: ((error: unknown) => void)[];
/** How often the feed stopped following the log. */
let stops: number;
/** Runs after the store has read a page and before a reader receives it. */
let whileReading: () => unknown;
/** The promise that the feed awaits before it receives committed events. */
let held: Promise<void> | undefined;
let log: EventStore;
let feed: EventFeed;
let reported: unknown[];

beforeEach(async () => {
  opened = await engines[0]!.open();
  store = opened.store;
  endFollowing = [];
  stops = 0;
  whileReading = () => {};
  held = undefined;
  log = {
    async eventPage(request) {
      const page = await store.eventPage(request);
      if (request.after !== NOW) await whileReading();
      return page;
    },
    async *followEvents(after) {
      const pages = store.followEvents(after)[Symbol.asyncIterator]();
      const ended = new Promise<never>((_, reject) => endFollowing.push(reject));
      ended.catch(() => {});
      try {
        for (;;) {
          const { value } = await Promise.race([pages.next(), ended]);
          await held;
          yield value;
        }
      } finally {
        stops++;
      }
    },
  };
  reported = [];
  feed = new EventFeed(log, api.eventTypes, (error) => reported.push(error));
});
afterEach(() => opened.close());

/** Creates categories with these names in one transaction. */
const write = (...names: string[]) =>
  store.transaction(async (writes) => {
    for (const name of names) await writes.table(Category).insert({ name });
  });
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `N${i}`);
const nameOf = ({ event }: FeedEvent): string => (event.record as unknown as { name: string }).name;

/** Opens a reader, which begins at once. */
async function open(wanted: WantedEvents) {
  const ending = new AbortController();
  const { pages } = await feed.open(wanted, ending.signal);
  let begun: ReturnType<typeof pages.next> | undefined = pages.next();
  return {
    ending,
    /** Waits for the next events, at least one. */
    async take(): Promise<readonly FeedEvent[]> {
      for (;;) {
        const { value } = await (begun ?? pages.next());
        begun = undefined;
        if (value!.events.length > 0) return value!.events;
      }
    },
    close: () => void pages.return(),
  };
}
type Reader = Awaited<ReturnType<typeof open>>;

async function read(reader: Reader, count: number): Promise<string[]> {
  const names: string[] = [];
  while (names.length < count) names.push(...(await reader.take()).map(nameOf));
  return names;
}

const turn = promisify(setImmediate);

/** The id of the latest event. */
const position = async (): Promise<string> => (await store.eventPage({ limit: 100 })).next;

it('follows the log once for all readers, and anew after the last one has closed', async () => {
  const readers = await Promise.all([open({}), open({})]);
  await write('Both');
  for (const reader of readers) expect(await read(reader, 1)).toEqual(['Both']);
  expect(endFollowing).toHaveLength(1);
  readers[0]!.close();
  await turn();
  expect(stops).toBe(0);
  readers[1]!.close();
  await expect.poll(() => stops).toBe(1);
  (await open({})).close();
  await expect.poll(() => [endFollowing.length, stops]).toEqual([2, 2]);
});

const following = () => expect.poll(() => endFollowing.length).toBe(1);

it.each([
  ['cannot be resumed', eventsGone(), true],
  ['failed', new TypeError('unexpected'), true],
  ['has lost the database', unavailable(), false],
])('goes on from where its readers are when following the log %s', async (_how, error, isReported) => {
  const reader = await open({});
  await following();
  endFollowing[0]!(error);
  for (const name of ['Meanwhile', 'Then']) {
    await write(name);
    expect(await read(reader, 1)).toEqual([name]);
  }
  expect(reported).toEqual(isReported ? [error] : []);
  expect(endFollowing).toHaveLength(2);
  reader.close();
});

it('fails a reader whose own place is gone when following the log cannot be resumed', async () => {
  const reader = await open({});
  await following();
  log.eventPage = async (request) => {
    if (request.after !== NOW) throw eventsGone();
    return store.eventPage(request);
  };
  endFollowing[0]!(eventsGone());
  await write('Lost');
  await expect(reader.take()).rejects.toMatchObject({ code: 'GONE' });
});

it.each([
  ['the first reader', 0],
  ['a reader that starts at the oldest event in the feed', 1],
  ['a reader that starts at the second event in the feed', 2],
])('delivers to %s what is committed while a page is being read, once', async (_reader, start) => {
  await write('Old');
  const others: Reader[] = [];
  for (let i = 2; i > 0; i--) {
    if (i === start) others.push(await open({}));
    await write(`Old ${i}`);
  }
  const after = await position();
  const names = ['A', 'B', 'C', 'D'];
  let pages = 0;
  whileReading = () => {
    pages += 1;
    return names.length > 0 && write(names.shift()!);
  };
  const reader = await open({ after });
  const delivered = await read(reader, 1);
  await write(...names.splice(0));
  delivered.push(...(await read(reader, 4 - delivered.length)));
  expect(delivered).toEqual(['A', 'B', 'C', 'D']);
  await write('E');
  expect(await read(reader, 1)).toEqual(['E']);
  // Once the feed has the last event of a page, the store is not read again, however fast others write.
  expect(pages).toBeLessThanOrEqual(2);
  for (const each of [reader, ...others]) each.close();
});

it.each(['none', 'some'])('delivers at once what arrived while it read %s of the log', async (which) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const other = await open({});
    await write('Old');
    const after = await position();
    if (which === 'some') await write('Read');
    whileReading = () => {
      whileReading = () => {};
      return write('New');
    };
    const reader = await open({ after });
    vi.advanceTimersByTime(1_000);
    expect(await read(reader, which === 'some' ? 2 : 1)).toEqual(
      which === 'some' ? ['Read', 'New'] : ['New'],
    );
    for (const each of [reader, other]) each.close();
  } finally {
    vi.useRealTimers();
  }
});

it('continues after an empty page that is not the end of the log', async () => {
  await write('Old');
  const after = await position();
  const { eventPage } = log;
  let pages = 0;
  log.eventPage = async (request) =>
    pages++ < 3 ? { events: [], next: after, atEnd: false } : eventPage(request);
  await write('A', 'B');
  const reader = await open({ after });
  expect(await read(reader, 2)).toEqual(['A', 'B']);
  await write('C');
  expect(await read(reader, 1)).toEqual(['C']);
  reader.close();
});

it('delivers events once when the feed receives them late', async () => {
  const other = await open({});
  await write('Old');
  const after = await position();
  const { promise, resolve } = deferred();
  held = promise;
  await write('A');
  const reader = await open({ after });
  expect(await read(reader, 1)).toEqual(['A']);
  const next = read(reader, 1);
  await turn();
  await write('B');
  resolve();
  expect(await next).toEqual(['B']);
  await write('C');
  expect(await read(reader, 1)).toEqual(['C']);
  for (const each of [reader, other]) each.close();
});

it('begins without a place after what was committed before, even if the feed receives that later', async () => {
  const other = await open({});
  const { promise, resolve } = deferred();
  held = promise;
  await write('Old', 'Older');
  const reader = await open({});
  await write('New', 'Newer');
  resolve();
  expect(await read(reader, 2)).toEqual(['New', 'Newer']);
  expect(await read(other, 4)).toEqual(['Old', 'Older', 'New', 'Newer']);
  for (const each of [reader, other]) each.close();
});

it('reads no pages once nothing was committed for a while', async () => {
  await write('Old');
  const readers = [await open({ after: await position() }), await open({})];
  const all = readers.map((reader) => read(reader, 3));
  await sleep(2 * FOLLOW_WAIT + 100);
  let pages = 0;
  whileReading = () => void pages++;
  for (const name of ['A', 'B', 'C']) await write(name);
  for (const names of all) expect(await names).toEqual(['A', 'B', 'C']);
  expect(pages).toBe(0);
  for (const reader of readers) reader.close();
});

it('ignores events and the end of a log that it no longer follows', async () => {
  (await open({})).close();
  const reader = await open({});
  await write('A');
  endFollowing[0]!(eventsGone());
  await write('B');
  expect(await read(reader, 2)).toEqual(['A', 'B']);
  reader.close();
});

it('reads from the store what the feed dropped while the last page was being read', async () => {
  await write('Old');
  const names = numbered(1_050);
  const other = await open({});
  await following();
  whileReading = () => {
    whileReading = () => {};
    return write(...names);
  };
  const reader = await open({ after: await position() });
  expect(await read(reader, names.length)).toEqual(names);
  for (const each of [reader, other]) each.close();
});

it('lets others in while it searches a long log, and stops when it is failed', async () => {
  await write('Old');
  const after = await position();
  const { eventPage } = log;
  let pages = 0;
  log.eventPage = async (request) => {
    pages++;
    return { ...(await eventPage(request)), events: [], atEnd: false };
  };
  const reader = await open({ after });
  const taken = expect(reader.take()).rejects.toThrow('The client has gone');
  // A macrotask gets its turn, though the store answers at once.
  await turn();
  reader.ending.abort(new Error('The client has gone'));
  await taken;
  const read = pages;
  await turn();
  expect(pages).toBe(read);
  reader.close();
});

it('lets a filtered reader meet a feed that drops what the filter leaves out', async () => {
  const { id } = await store.table(Category).insert({ name: 'Old' });
  const other = await open({});
  const after = await position();
  let rounds = 0;
  whileReading = () => {
    if (rounds++ > 2) return;
    return write(...numbered(1_100));
  };
  const reader = await open({ after, types: ['category.updated'] });
  const name = read(reader, 1);
  for (let i = 0; i < 20; i++) await turn();
  await store.table(Category).update(id, { name: 'Updated' });
  expect(await name).toEqual(['Updated']);
  for (const each of [reader, other]) each.close();
});

it('waits for the database when it is away while a reader reads a page', async () => {
  await write('Old');
  const after = await position();
  await write(...numbered(150));
  const reader = await open({ after });
  expect(await read(reader, 100)).toHaveLength(100);
  whileReading = () => {
    whileReading = () => {};
    throw unavailable();
  };
  expect(await read(reader, 50)).toEqual(numbered(150).slice(100));
  reader.close();
});

it('ends a reader at once that is told to, though the log is silent, and no other', async () => {
  const { promise, resolve } = deferred();
  held = promise;
  const waiting = await open({});
  const idle = await open({});
  const other = await open({});
  const taken = expect(waiting.take()).rejects.toThrow('Over');
  await turn();
  for (const reader of [waiting, idle]) reader.ending.abort(new Error('Over'));
  await taken;
  await expect(idle.take()).rejects.toThrow('Over');
  resolve();
  await write('Heard');
  expect(await read(other, 1)).toEqual(['Heard']);
  other.close();
});

it('reports the time since the store has answered while there are readers, otherwise 0', async () => {
  expect(feed.lag).toBe(0);
  held = new Promise(() => {});
  const reader = await open({});
  await sleep(2 * FOLLOW_WAIT);
  expect(feed.lag).toBeGreaterThan(FOLLOW_WAIT);
  reader.close();
  await expect.poll(() => feed.lag).toBe(0);
});
