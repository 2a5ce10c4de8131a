import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Principal } from '../../src/access/api-keys.ts';
import {
  CLIENT_DISCONNECTED,
  endReason,
  OpenStreams,
  SERVER_STOPPING,
} from '../../src/access/open-streams.ts';
import type { Session } from '../../src/access/session.ts';
import { Category } from '../../src/domains/category/category.ts';
import { type EventStream, EventStreams } from '../../src/events/streams.ts';
import { AppError, eventsGone, unavailable } from '../../src/foundation/errors.ts';
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
    principal: principalOf(key),
    renew() {},
    charge(units: number) {
      onCharge(key);
      charges.push([key, units]);
    },
  } as unknown as Session;
  return streams.open({ session, key, selection: after === undefined ? {} : { after }, cost: 3 });
}

const write = (count: number) =>
  store.transaction(async (writes) => {
    for (let i = 0; i < count; i++) await writes.table(Category).insert({ name: 'N' });
  });

describe('an event stream', () => {
  it('pays before the 1st, 101st and 201st event, however many are taken at once', async () => {
    const stream = await open();
    for (const [written, taken, paid] of [
      [40, 40, 1],
      [60, 60, 1],
      [1, 1, 2],
      [150, 99, 2],
      [0, 51, 3],
      [0, 0, 3],
    ]) {
      await write(written!);
      if (taken! > 0) expect(await stream.take()).toHaveLength(taken!);
      expect(charges).toEqual(new Array(paid).fill(['key', 3]));
    }
    expect([stream.sent, streams.sent]).toEqual([251, 251]);
    stream.close();
  });

  it('delivers and charges nothing after its first failure', async () => {
    const stream = await open();
    await write(150);
    await stream.take();
    stream.fail(CLIENT_DISCONNECTED);
    stream.fail(SERVER_STOPPING);
    await expect(stream.take()).rejects.toBe(CLIENT_DISCONNECTED);
    expect(stream.failure).toBe(CLIENT_DISCONNECTED);
    expect(charges).toHaveLength(1);
    stream.close();
  });

  it('frees its place in the limit of concurrent streams once, even if it failed to open', async () => {
    await expect(open('key', 'nonsense')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    const [first, second] = [await open(), await open()];
    await expect(open()).rejects.toMatchObject({
      code: 'RATE_LIMITED',
      message: 'The plan allows 2 concurrent streams. Close one first.',
      retryAfter: 1,
    });
    const other = await open('other');
    expect(streams.size).toBe(3);
    first.close();
    first.close();
    expect(streams.size).toBe(2);
    const third = await open();
    await expect(open()).rejects.toMatchObject({ code: 'RATE_LIMITED' });
    for (const stream of [second, third, other]) stream.close();
    expect([streams.size, streams.lag]).toEqual([0, 0]);
  });

  it('reports internal errors that end it, and no other reasons', async () => {
    const faults = [new Error('a fault'), new AppError('INTERNAL', 'A fault.'), unavailable()];
    const others = [CLIENT_DISCONNECTED, SERVER_STOPPING, eventsGone()];
    for (const reason of [...faults, ...others]) {
      const stream = await open();
      stream.fail(reason);
      stream.close();
    }
    (await open()).close();
    expect(reported).toEqual(faults);
  });

  it('ends when the server stops, even while being opened, and none can be opened after that', async () => {
    const early = await open();
    const opening = open();
    openStreams.stop();
    for (const stream of [early, await opening]) {
      await expect(stream.take()).rejects.toBe(SERVER_STOPPING);
      stream.close();
    }
    await expect(open()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('the key check', () => {
  const INTERVAL = 500;
  beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => vi.useRealTimers());
  const banned = new AppError('API_KEY_BANNED', 'Banned.', { retryAfter: 60 });

  it('validates each key every 500 ms and checks it for bans every 2 s while streams are open', async () => {
    const all = [await open('a'), await open('b'), await open('a')];
    await vi.advanceTimersByTimeAsync(INTERVAL - 1);
    expect(checked).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(checked).toEqual(['a', 'b']);
    expect(charges).toEqual([
      ['a', 0],
      ['b', 0],
    ]);
    await vi.advanceTimersByTimeAsync(3 * INTERVAL);
    expect(checked).toHaveLength(8);
    expect(charges).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(INTERVAL);
    expect(charges).toHaveLength(4);
    for (const stream of all) stream.close();
    expect(vi.getTimerCount()).toBe(0);
    (await open('c')).close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('continues for a key when the last stream of another key has closed', async () => {
    const [a, b] = [await open('a'), await open('b')];
    b.close();
    await vi.advanceTimersByTimeAsync(INTERVAL);
    expect(checked).toEqual(['a']);
    a.close();
  });

  it.each([
    ['revoked', () => {}, { code: 'UNAUTHENTICATED', message: 'The API key is no longer valid.' }],
    ['banned', () => banned, banned],
  ])('ends all streams of a key that is %s, and no others', async (_state, refusal, failure) => {
    const [a, b, other] = [await open('a'), await open('a'), await open('b')];
    if (refusal()) {
      onCharge = (key) => {
        if (key === 'a') throw refusal();
      };
    } else isValid = (key) => key !== 'a';
    await vi.advanceTimersByTimeAsync(INTERVAL);
    for (const stream of [a, b]) await expect(stream.take()).rejects.toMatchObject(failure);
    expect(other.failure).toBeUndefined();
    for (const stream of [a, b, other]) stream.close();
  });

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

describe('endReason', () => {
  it.each([
    [CLIENT_DISCONNECTED, 'client gone'],
    [SERVER_STOPPING, 'stopping'],
    [new AppError('RATE_LIMITED', 'Enough.'), 'RATE_LIMITED'],
    [new Error('a fault'), 'INTERNAL'],
  ])('maps %s to %s', (reason, end) => {
    expect(endReason(reason)).toBe(end);
  });
});
