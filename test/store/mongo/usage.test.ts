import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MongoStore } from '../../../src/store/mongo/mongo-store.ts';
import { DAY, MINUTE } from '../../../src/foundation/instant.ts';
import {
  chargeUsage,
  STRIKE_WINDOW,
  STRIKES_TO_BAN,
  type UsageState,
} from '../../../src/store/limiter-algorithm.ts';
import { cases } from '../../kit/cases.ts';
import { newDatabase } from './database.ts';

const NOW = Date.UTC(2126, 5, 1);

/** Times around those at which a rule changes its result. */
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

describe.runIf(process.env.TEST_MONGODB_URI)('charges on MongoDB', () => {
  const database = newDatabase();
  const documentsOf = (store: MongoStore) =>
    store.client.db().collection<UsageState & { _id: string }>('usage');

  it('agrees with chargeUsage from any state, alone or concurrently', async () => {
    const store = await database.open();
    const decisions = new Map<string, number>();
    let keys = 0;
    const group = fc.tuple(
      request,
      fc.array(fc.tuple(fc.constantFrom(0, 1, 2), fc.constantFrom(-1, 0, 1, 7)), { maxLength: 6 }),
    );
    await fc.assert(
      fc.asyncProperty(state, group, async (before, [{ limits, cost }, others]) => {
        const _id = `key ${++keys}`;
        await documentsOf(store).insertOne({ _id, ...before });
        const charges = [[cost, 0] as const, ...others].map(([cost, later]) => ({
          apiKeyId: _id,
          limits,
          cost,
          now: NOW + later,
        }));
        let usage = before;
        const expected = charges.map((charge) => {
          const result = chargeUsage(usage, charge);
          const decision = `${result.verdict}${result.usage.bans === usage.bans ? '' : ' now'}`;
          decisions.set(decision, (decisions.get(decision) ?? 0) + 1);
          usage = result.usage;
          return result;
        });
        expect(await Promise.all(charges.map((charge) => store.charge(charge)))).toEqual(expected);
        expect(await store.usage([_id])).toEqual([usage]);
      }),
      { numRuns: cases(70, 200) },
    );
    expect([...decisions.keys()].sort()).toEqual(['banned', 'banned now', 'passed', 'refused']);
  });

  it('combines concurrent charges of a key into one command, as if made one after the other', async () => {
    const store = await database.open();
    const charge = { apiKeyId: 'many', limits: { perMinute: 100, perDay: 1000 }, cost: 1, now: NOW };
    await store.charge(charge);
    const names: string[] = [];
    store.client.on('commandStarted', ({ commandName }) => {
      if (commandName !== 'hello') names.push(commandName);
    });
    const results = await Promise.all(Array.from({ length: 50 }, () => store.charge(charge)));
    expect(names).toEqual(['findAndModify']);
    expect(results.map(({ usage }) => usage.minuteUsed)).toEqual(Array.from({ length: 50 }, (_, i) => i + 2));
    expect(await store.usage(['many'])).toEqual([results.at(-1)!.usage]);
  });
});
