import { afterEach, beforeEach, expect, it } from 'vitest';
import { EventFeed } from '../../../src/domains/event/feed.ts';
import { eventsGone } from '../../../src/errors.ts';
import type { EventFollower, EventStore } from '../../../src/store/events.ts';
import { engines, type OpenedStore } from '../../kit/stores.ts';

let opened: OpenedStore;
/** What ends the log for each of those who have followed it. */
let ends: ((error: unknown) => void)[];
let log: EventStore;

beforeEach(async () => {
  opened = await engines[0]!.open();
  ends = [];
  const { store } = opened;
  log = {
    eventPage: store.eventPage,
    async followEvents(follower: EventFollower) {
      const following = await store.followEvents(follower);
      ends.push((error) => {
        following.stop();
        follower.onEnd(error);
      });
      return following;
    },
  };
});
afterEach(() => opened.close());

it('follows the log once, however many read, and no more when nobody does', async () => {
  const feed = new EventFeed(log);
  const readers = await Promise.all([feed.open({}), feed.open({})]);
  await opened.store.createCategory({ name: 'Both' });
  for (const reader of readers) expect(await reader.take()).toHaveLength(1);
  expect(ends).toHaveLength(1);
  for (const reader of readers) reader.close();
  (await feed.open({})).close();
  expect(ends).toHaveLength(2);
});

it('follows the log anew for who comes after its end, while others have not left yet', async () => {
  const feed = new EventFeed(log);
  const old = await feed.open({});
  ends[0]!(eventsGone());
  const reader = await feed.open({});
  await opened.store.createCategory({ name: 'Heard' });
  expect(await reader.take()).toMatchObject([{ event: { record: { name: 'Heard' } } }]);
  await expect(old.take()).rejects.toMatchObject({ code: 'GONE' });
  old.close();
  await opened.store.createCategory({ name: 'Heard too' });
  expect(await reader.take()).toMatchObject([{ event: { record: { name: 'Heard too' } } }]);
  reader.close();
});
