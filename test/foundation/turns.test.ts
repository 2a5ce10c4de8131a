import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inOwnTurn, ownTurn } from '../../src/foundation/turns.ts';

it('lets others in between pieces of work that wait at the same time', async () => {
  const order: string[] = [];
  inOwnTurn(() => order.push('first'));
  inOwnTurn(() => order.push('second'));
  const third = ownTurn().then(() => order.push('third'));
  for (const other of ['a', 'b']) {
    await setImmediate();
    order.push(other);
  }
  await third;
  expect(order).toEqual(['first', 'a', 'second', 'b', 'third']);
});

it('goes on after work that throws', async () => {
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve));
  inOwnTurn(() => {
    throw new Error('broken');
  });
  const next = ownTurn();
  expect(String(await thrown)).toBe('Error: broken');
  await next;
});
