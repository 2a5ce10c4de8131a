import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Principal } from '../../src/access/api-keys.ts';
import { CLIENT_DISCONNECTED, OpenStreams, SERVER_STOPPING } from '../../src/access/open-streams.ts';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { type EventStream, EventStreams } from '../../src/events/streams.ts';
import { unavailable } from '../../src/foundation/errors.ts';
import type { Store } from '../../src/store/store.ts';
import { engines, type OpenedStore } from '../kit/stores.ts';

let opened: OpenedStore;
let store: Store;
let openStreams: OpenStreams;
let streams: EventStreams;
/** All charges, in order. */
let charges: [key: string, units: number][];
/** Called before every charge; may throw. */
let onCharge: (key: string) => void;
let isValid: (key: string) => boolean;
let checked: string[];
let reported: unknown[];

beforeEach(async () => {
  opened = await engines[0]!.open();
  store = opened.store;
  charges = [];
  checked = [];
  reported = [];
  onCharge = () => {};
  isValid = () => true;
  openStreams = new OpenStreams((key) => {
    checked.push(key);
    return isValid(key) ? principalOf(key) : null;
  });
  streams = new EventStreams({
    store,
    openStreams,
    report: (error) => reported.push(error),
  });
});
afterEach(() => opened.close());

const principalOf = (id: string): Principal => ({
  ...{ id, name: id, plan: 'free' as const },
  limits: { perMinute: 60, perDay: 1_000 },
});

/** Opens a stream for a key on the Free plan. */
function open(key = 'key', after?: string): Promise<EventStream> {
  const session = {
    key,
    principal: principalOf(key),
    renew() {},
    charge(units: number) {
      onCharge(key);
      charges.push([key, units]);
    },
  } as unknown as Session;
  return streams.open({ session, selection: after === undefined ? {} : { after }, cost: 3 });
}

const write = (count: number) =>
  store.transaction(async (writes) => {
    for (let i = 0; i < count; i++) await writes.table(Category).insert({ name: 'N' });
  });

describe('an event stream', () => {
  it('delivers and charges nothing after its first failure', async () => {
    const stream = await open();
    await write(150);
    await stream.take();
    stream.ending.abort(CLIENT_DISCONNECTED);
    stream.ending.abort(SERVER_STOPPING);
    await expect(stream.take()).rejects.toBe(CLIENT_DISCONNECTED);
    expect(stream.failure).toBe(CLIENT_DISCONNECTED);
    expect(charges).toHaveLength(1);
    stream.close();
  });
});

describe('the key check', () => {
  const INTERVAL = 500;
  beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => vi.useRealTimers());

  it.each([unavailable(), new Error('a fault')])(
    'ends no stream when the check itself fails: %s',
    async (fault) => {
      const stream = await open();
      const fail = () => {
        throw fault;
      };
      onCharge = fail;
      await vi.advanceTimersByTimeAsync(INTERVAL);
      isValid = fail;
      await vi.advanceTimersByTimeAsync(INTERVAL);
      expect(stream.failure).toBeUndefined();
      stream.close();
    },
  );
});
