import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EventFeed } from '../../../src/domains/event/feed.ts';
import type { EventReader, FeedEvent } from '../../../src/domains/event/reader.ts';
import { eventsGone, unavailable } from '../../../src/errors.ts';
import type { EventFollower, EventStore } from '../../../src/store/events.ts';
import type { Store } from '../../../src/store/store.ts';
import { engines, type OpenedStore } from '../../kit/stores.ts';

let opened: OpenedStore;
let store: Store;
/** What ends the log for each of those who have followed it. */
let ends: ((error: unknown) => void)[];
/** What happens while a page is on its way from the store. */
let whileReading: () => unknown;
let log: EventStore;
let feed: EventFeed;

beforeEach(async () => {
  opened = await engines[0]!.open();
  store = opened.store;
  ends = [];
  whileReading = () => {};
  log = {
    async eventPage(request) {
      const page = await store.eventPage(request);
      await whileReading();
      return page;
    },
    async followEvents(follower: EventFollower) {
      const following = await store.followEvents(follower);
      ends.push((error) => {
        following.stop();
        follower.onEnd(error);
      });
      return following;
    },
  };
  feed = new EventFeed(log);
});
afterEach(() => opened.close());

/** Writes a category of each name at once. */
const write = (...names: string[]) =>
  store.transaction((writes) => {
    for (const name of names) writes.createCategory({ name });
  });
const numbered = (count: number) => Array.from({ length: count }, (_, i) => `N${i}`);
const nameOf = ({ event }: FeedEvent): string => (event.record as { name: string }).name;

async function read(reader: EventReader, count: number): Promise<string[]> {
  const names: string[] = [];
  while (names.length < count) names.push(...(await reader.take()).map(nameOf));
  return names;
}

const turn = promisify(setImmediate);

/** The id of the latest event. */
const position = async (): Promise<string> => (await store.eventPage({ limit: 100 })).next;

it('follows the log once, however many read, and no more when nobody does', async () => {
  const readers = await Promise.all([feed.open({}), feed.open({})]);
  await write('Both');
  for (const reader of readers) expect(await read(reader, 1)).toEqual(['Both']);
  expect(ends).toHaveLength(1);
  for (const reader of readers) reader.close();
  (await feed.open({})).close();
  expect(ends).toHaveLength(2);
});

it('follows the log anew for who comes after its end, while others have not left yet', async () => {
  const old = await feed.open({});
  ends[0]!(eventsGone());
  const reader = await feed.open({});
  await write('Heard');
  expect(await read(reader, 1)).toEqual(['Heard']);
  await expect(old.take()).rejects.toMatchObject({ code: 'GONE' });
  old.close();
  const late = await feed.open({ after: await position() });
  await write('Heard too');
  for (const one of [reader, late]) {
    expect(await read(one, 1)).toEqual(['Heard too']);
    one.close();
  }
});

it.each([
  ['the first to read', 0],
  ['who comes when the feed has the event', 1],
  ['who comes when the feed has it and one before', 2],
])('gives %s what is committed while a page is on its way, once', async (_who, known) => {
  await write('Old');
  const others: EventReader[] = [];
  for (let i = 2; i > 0; i--) {
    if (i === known) others.push(await feed.open({}));
    await write(`Old ${i}`);
  }
  const after = await position();
  const names = ['A', 'B', 'C', 'D'];
  let pages = 0;
  whileReading = () => {
    pages += 1;
    return names.length > 0 && write(names.shift()!);
  };
  const reader = await feed.open({ after });
  const found = await read(reader, 1);
  await write(...names.splice(0));
  found.push(...(await read(reader, 4 - found.length)));
  expect(found).toEqual(['A', 'B', 'C', 'D']);
  await write('E');
  expect(await read(reader, 1)).toEqual(['E']);
  // Once the feed has the last event of a page, the store is read no more, however fast others write.
  expect(pages).toBe(known === 0 ? 2 : 1);
  for (const one of [reader, ...others]) one.close();
});

it.each(['none', 'some'])('does not wait to give what came while it read %s of the log', async (which) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const other = await feed.open({});
    await write('Old');
    const after = await position();
    if (which === 'some') await write('Read');
    whileReading = () => {
      whileReading = () => {};
      return write('New');
    };
    const reader = await feed.open({ after });
    vi.advanceTimersByTime(1_000);
    expect(await read(reader, which === 'some' ? 2 : 1)).toEqual(
      which === 'some' ? ['Read', 'New'] : ['New'],
    );
    for (const one of [reader, other]) one.close();
  } finally {
    vi.useRealTimers();
  }
});

it('gives the types that are asked for, of what was and of what comes', async () => {
  const { id } = await store.createCategory({ name: 'Old' });
  const after = await position();
  await write(...numbered(150));
  await store.updateCategory(id, { name: 'Updated' });
  const reader = await feed.open({ after, types: ['category.updated'] });
  expect(await read(reader, 1)).toEqual(['Updated']);
  await write('Created');
  await store.updateCategory(id, { name: 'Updated again' });
  expect(await read(reader, 1)).toEqual(['Updated again']);
  reader.close();
});

it('reads on behind an empty page that is not the end of the log', async () => {
  await write('Old');
  const after = await position();
  const { eventPage, followEvents } = log;
  let pages = 0;
  log.eventPage = async (request) =>
    pages++ < 3 ? { events: [], next: after, atEnd: false } : eventPage(request);
  let isCaughtUp = false;
  log.followEvents = async (follower) => ({
    ...(await followEvents(follower)),
    caughtUp: () => {
      isCaughtUp = true;
    },
  });
  await write('A', 'B');
  const reader = await feed.open({ after });
  expect(await read(reader, 2)).toEqual(['A', 'B']);
  expect(isCaughtUp).toBe(false);
  await write('C');
  expect(await read(reader, 1)).toEqual(['C']);
  reader.close();
});

it('gives once what the log tells its followers late', async () => {
  const { followEvents } = log;
  const late: (() => void)[] = [];
  log.followEvents = async (follower) => ({
    ...(await followEvents({
      ...follower,
      onEvents: (events) => late.push(() => follower.onEvents(events)),
    })),
    async caughtUp() {
      await turn();
      for (const tell of late.splice(0)) tell();
    },
  });
  const other = await feed.open({});
  await write('Old');
  const after = await position();
  await write('A');
  const reader = await feed.open({ after });
  expect(await read(reader, 1)).toEqual(['A']);
  const next = read(reader, 1);
  await turn();
  await write('B');
  for (const tell of late.splice(0)) tell();
  expect(await next).toEqual(['B']);
  for (const one of [reader, other]) one.close();
});

it('hears nothing more of a log that it has left', async () => {
  const { followEvents } = log;
  const followers: EventFollower[] = [];
  log.followEvents = (follower) => {
    followers.push(follower);
    return followEvents(follower);
  };
  (await feed.open({})).close();
  const reader = await feed.open({});
  await write('A');
  const { events } = await store.eventPage({ limit: 1 });
  followers[0]!.onEvents(events);
  followers[0]!.onEnd(eventsGone());
  await write('B');
  expect(await read(reader, 2)).toEqual(['A', 'B']);
  reader.close();
});

it('does not lag behind a log that ended before it could be followed', async () => {
  log.followEvents = async (follower) => {
    await turn();
    follower.onEnd(eventsGone());
    return { caughtUp() {}, lag: () => 7, stop() {} };
  };
  const reader = await feed.open({});
  await expect(reader.take()).rejects.toMatchObject({ code: 'GONE' });
  expect(feed.lag).toBe(0);
  reader.close();
});

it('reads from the store what the feed dropped while the last page was on its way', async () => {
  await write('Old');
  const names = numbered(1_050);
  const reader = await feed.open({ after: await position() });
  whileReading = () => {
    whileReading = () => {};
    return write(...names);
  };
  expect(await read(reader, names.length)).toEqual(names);
  reader.close();
});

it('reads from the store what the feed no longer has for who pauses while catching up', async () => {
  await write('Old');
  const reader = await feed.open({ after: await position() });
  const names = numbered(1_050);
  await write(...names);
  expect(await read(reader, names.length)).toEqual(names);
  await write('New');
  expect(await read(reader, 1)).toEqual(['New']);
  reader.close();
});

it.each([
  ['1,000 events', 1_003, ''],
  ['1,000,000 characters', 500, 'x'.repeat(2_000)],
])('cuts off who is more than %s behind, and nobody else', async (_lag, count, description) => {
  const reading = await feed.open({});
  const readers: EventReader[] = [];
  const early = 50;
  for (let i = 0; i < early; i++) {
    readers.push(await feed.open({}));
    await store.createCategory({ name: `N${i}`, description });
  }
  const events = [...(await reading.take())];
  while (events.length < early) events.push(...(await reading.take()));
  const failed: unknown[] = [];
  for (const reader of readers) reader.onFailure = (error) => failed.push(error);
  await store.transaction((writes) => {
    for (let i = early; i < count; i++) writes.createCategory({ name: `N${i}`, description });
  });
  events.push(...(await reading.take()));
  expect(events.map(nameOf)).toEqual(numbered(count));

  let first = count;
  for (let size = 0; first > 0 && count - first < 1_000; first--) {
    size += events[first - 1]!.json.length;
    if (size > 1_000_000) break;
  }
  expect(first).toBeGreaterThan(1);
  expect(first).toBeLessThan(early);
  expect(failed).toHaveLength(first);
  for (const [i, reader] of readers.entries()) {
    if (i < first)
      await expect(reader.take()).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        retryAfter: 1,
        message: 'The reader fell too far behind. Resume after the last event received.',
      });
    else expect(await reader.take()).toEqual(events.slice(i));
    reader.close();
  }
  reading.close();
});

it('fails once, whether events are being taken or not', async () => {
  const [waiting, idle, gone] = await Promise.all([feed.open({}), feed.open({}), feed.open({})]);
  const failures: unknown[] = [];
  for (const reader of [waiting, idle, gone]) reader.onFailure = (error) => failures.push(error);
  const taken = expect(waiting.take()).rejects.toMatchObject({ code: 'GONE' });
  gone.close();
  ends[0]!(eventsGone());
  await taken;
  idle.fail(new Error('A second one'));
  await expect(idle.take()).rejects.toMatchObject({ code: 'GONE' });
  expect(failures).toHaveLength(2);
});

it('follows the log anew after it could not be followed', async () => {
  const { followEvents } = log;
  log.followEvents = () => Promise.reject(unavailable());
  await expect(feed.open({})).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  log.followEvents = followEvents;
  const reader = await feed.open({});
  await write('Heard');
  expect(await read(reader, 1)).toEqual(['Heard']);
  reader.close();
});

it('lags as the store does while there are readers', async () => {
  const { followEvents } = log;
  log.followEvents = async (follower) => ({ ...(await followEvents(follower)), lag: () => 7 });
  expect(feed.lag).toBe(0);
  const reader = await feed.open({});
  expect(feed.lag).toBe(7);
  reader.close();
  expect(feed.lag).toBe(0);
});

it('wakes its readers at once after a quiet period, then less often the more there are', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    for (const [count, interval] of [
      [100, 5],
      [2_000, 50],
    ] as const) {
      const readers = await Promise.all(Array.from({ length: count }, () => feed.open({})));
      const [reader] = readers as [EventReader];
      vi.advanceTimersByTime(1_000);
      const first = reader.take();
      await write('First');
      vi.advanceTimersByTime(0);
      expect((await first).map(nameOf)).toEqual(['First']);
      let isAwake = false;
      const second = reader.take().finally(() => {
        isAwake = true;
      });
      await write('Second', 'Third');
      vi.advanceTimersByTime(interval - 1);
      await turn();
      expect(isAwake).toBe(false);
      vi.advanceTimersByTime(1);
      expect((await second).map(nameOf)).toEqual(['Second', 'Third']);
      for (const one of readers) one.close();
      await turn();
    }
  } finally {
    vi.useRealTimers();
  }
});
