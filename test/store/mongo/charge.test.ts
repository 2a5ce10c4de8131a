import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chargeUsage, DAY, MINUTE, STRIKE_WINDOW, STRIKES_TO_BAN } from '../../../src/access/usage.ts';
import type { UsageDocument } from '../../../src/store/mongo/collections.ts';
import type { UsageState } from '../../../src/store/store.ts';
import { newDatabase } from './database.ts';

const NOW = Date.UTC(2026, 5, 1);

/** Moments around those at which a rule changes its mind. */
const around = (...spans: number[]) =>
  fc
    .tuple(fc.constantFrom(0, ...spans), fc.constantFrom(-1000, -1, 0, 1, 999))
    .map(([span, off]) => NOW - span + off);
const never = fc.constant(0);
const used = fc.constantFrom(0, 1, 8, 9, 10, 11);

const state: fc.Arbitrary<UsageState> = fc.record({
  minuteStart: fc.oneof(never, around(MINUTE)),
  minuteUsed: used,
  dayStart: fc.oneof(never, around(DAY)),
  dayUsed: used,
  refusedUntil: fc.oneof(never, around(), around(-MINUTE)),
  strikes: fc
    .tuple(fc.constantFrom(0, 1, STRIKES_TO_BAN - 2, STRIKES_TO_BAN - 1), around(STRIKE_WINDOW), around())
    .map(([count, first, rest]) => [first, ...Array<number>(STRIKES_TO_BAN).fill(rest)].slice(0, count)),
  bannedUntil: fc.oneof(never, around(DAY), around(2 * DAY), around(MINUTE)),
  bans: fc.constantFrom(0, 1, 2, 10, 11, 12, 13, 2000),
});

const request = fc.record({
  limits: fc.constantFrom(
    { perMinute: 10, perDay: 10 },
    { perMinute: 10, perDay: 1e12 },
    { perMinute: 1e12, perDay: 9 },
    { perMinute: 0, perDay: 1 },
  ),
  cost: fc.constantFrom(0, 1, 2, 50),
});

describe.runIf(process.env.TEST_MONGODB_URI)('The pipeline of a charge', () => {
  const database = newDatabase();

  it('computes what chargeUsage does, from any state', { timeout: 60_000 }, async () => {
    const store = await database.open();
    const documents = store.client.db().collection<UsageDocument>('usage');
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(state, request, async (before, rest) => {
        const charge = { apiKeyId: 'key', now: NOW, ...rest };
        await documents.replaceOne(
          { _id: 'key' },
          { ...before, outcome: 'passed', forgetAt: new Date(Date.now() + DAY) },
          { upsert: true },
        );
        const expected = chargeUsage(before, charge);
        expect(await store.charge(charge)).toEqual(expected);
        expect(await store.usage(['key'])).toEqual([expected.usage]);
        const verdict = `${expected.outcome}${expected.usage.bans === before.bans ? '' : ' now'}`;
        seen.set(verdict, (seen.get(verdict) ?? 0) + 1);
      }),
      { numRuns: 250 },
    );
    expect([...seen.keys()].sort()).toEqual(['banned', 'banned now', 'passed', 'refused']);
  });

  it('starts a key without a document from nothing, and leaves nothing of its own in it', async () => {
    const store = await database.open();
    const charge = { apiKeyId: 'new', limits: { perMinute: 5, perDay: 9 }, cost: 2, now: NOW };
    expect(await store.charge({ ...charge, cost: 0 })).toMatchObject({
      outcome: 'passed',
      usage: { minuteUsed: 0 },
    });
    expect(await store.usage(['new', 'none'])).toEqual([null, null]);
    expect(await store.charge(charge)).toMatchObject({
      outcome: 'passed',
      usage: { minuteUsed: 2, dayUsed: 2 },
    });
    const document = await store.client.db().collection<UsageDocument>('usage').findOne({ _id: 'new' });
    expect(Object.keys(document ?? {}).sort()).toEqual(
      [
        ...['_id', 'bannedUntil', 'bans', 'dayStart', 'dayUsed', 'forgetAt', 'minuteStart', 'minuteUsed'],
        ...['outcome', 'refusedUntil', 'strikes'],
      ].sort(),
    );
    expect(document?.forgetAt.getTime()).toBeGreaterThan(Date.now() + 1.9 * DAY);
  });

  it('passes exactly 60 of 200 charges that two instances make at once', { timeout: 60_000 }, async () => {
    const stores = [await database.open(), await database.open()] as const;
    const charge = { apiKeyId: 'busy', limits: { perMinute: 60, perDay: 1000 }, cost: 1, now: NOW };
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => stores[i % 2 ? 1 : 0].charge(charge)),
    );
    expect(results.filter((result) => result.outcome === 'passed')).toHaveLength(60);
  });
});
