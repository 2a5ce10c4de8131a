import { expect, it } from 'vitest';
import type { Context } from '../../src/kit/context.ts';
import { callOnce } from '../../src/operations/idempotency.ts';
import { onAnyEngine } from '../kit/petstore.ts';

const DAY = 24 * 60 * 60 * 1_000;

onAnyEngine('calls with an Idempotency-Key', (kit) => {
  let calls = 0;

  /** Runs a call and returns whether its outcome was replayed. */
  async function run(idempotencyKey: string, operation: string, input: object, after = 0): Promise<boolean> {
    let isReplayed = false;
    const context = {
      store: kit.gateway.store,
      principal: { id: 'key' },
      now: () => kit.clock.now() + after,
      idempotency: {
        key: idempotencyKey,
        onReplay: () => {
          isReplayed = true;
        },
      },
    } as unknown as Context;
    const before = calls;
    const { value: outcome } = await callOnce(context, operation, input, async () => ++calls);
    expect([isReplayed, outcome]).toEqual(calls === before ? [true, outcome] : [false, calls]);
    return isReplayed;
  }
  const expectReused = (key: string, operation: string, input: object) =>
    expect(run(key, operation, input)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });

  it('replays the outcome for equal input, regardless of the order of fields', async () => {
    for (const [i, [input, same]] of [
      [{}, { a: undefined }],
      [
        { a: 1, b: { c: [1, '2'], d: null } },
        { b: { d: null, c: [1, '2'] }, a: 1 },
      ],
      [{ a: 9223372036854775807n }, { a: 9223372036854775807n }],
    ].entries() as IterableIterator<[number, [object, object]]>) {
      expect(await run(`same ${i}`, 'call', input)).toBe(false);
      expect(await run(`same ${i}`, 'call', same)).toBe(true);
    }
  });

  it('refuses a reused key if the input or the operation differs', async () => {
    for (const [i, [input, other]] of [
      [{ a: 1 }, { a: 2 }],
      [{ a: null }, {}],
      [{ a: '1' }, { a: 1 }],
      [{ a: 1n }, { a: 1 }],
      [{ a: [1, 2] }, { a: [2, 1] }],
      [{ a: [1, 2] }, { a: [[1, 2]] }],
      [{ a: [['b', 1]] }, { a: { b: 1 } }],
    ].entries() as IterableIterator<[number, [object, object]]>) {
      expect(await run(`other ${i}`, 'call', input)).toBe(false);
      await expectReused(`other ${i}`, 'call', other);
    }
    expect(await run('operation', 'call', { a: 1 })).toBe(false);
    await expectReused('operation', 'other call', { a: 1 });
    expect(await run('another', 'call', { a: 1 })).toBe(false);
  });

  it('remembers the outcome for a day', async () => {
    expect(await run('day', 'call', {})).toBe(false);
    expect(await run('day', 'call', {}, DAY - 1)).toBe(true);
    expect(await run('day', 'call', {}, DAY)).toBe(false);
  });
});
