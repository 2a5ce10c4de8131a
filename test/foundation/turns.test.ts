import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { MAX_TURN, ownTurn, Turns } from '../../src/foundation/turns.ts';

it('lets others in between pieces of work that wait at the same time', async () => {
  const order: string[] = [];
  const pieces = ['first', 'second', 'third'].map((name) => ownTurn().then(() => order.push(name)));
  for (const other of ['a', 'b', 'c']) {
    await setImmediate();
    order.push(other);
  }
  await Promise.all(pieces);
  expect(order).toEqual(['a', 'first', 'b', 'second', 'c', 'third']);
});

/** Runs work whose parts take a while, and lists them with the turns of others in between. */
async function recorded(work: (note: (what: string, milliseconds: number) => void) => Promise<unknown>) {
  const order: string[] = [];
  let isDone = false;
  const other = () => {
    if (isDone) return;
    order.push('other');
    globalThis.setImmediate(other);
  };
  try {
    globalThis.setImmediate(other);
    await work((what, milliseconds) => {
      order.push(what);
      for (const began = performance.now(); performance.now() - began < milliseconds;);
    });
  } finally {
    isDone = true;
  }
  return order.join(' ');
}

it('passes results on in order, and lets others in as time goes by', async () => {
  const order = await recorded(async (note) => {
    const turns = new Turns(() => {});
    await Promise.all([1, 2, 3].map(async (n) => note(`${await turns.pass(n)}`, 2 * MAX_TURN)));
  });
  expect(order).toMatch(/^(other )*1 (other )+2 (other )+3$/);
});

it('reads when all results are passed on, those that follow from the last included', async () => {
  const order = await recorded(async (note) => {
    const turns = new Turns(() => {});
    const read = () => new Promise<void>((resolve) => void turns.read(() => resolve(note('read', 0))));
    const passed = [1, 2, 3].map(async (n) => {
      note(`${await turns.pass(n)}`, MAX_TURN);
      if (n === 1) await read();
      if (n === 3) note(`${await turns.pass(4)}`, 0);
    });
    await Promise.all(passed);
  });
  expect(order.replaceAll('other ', '')).toBe('1 2 3 4 read');
});

it('passes nothing on when the request has ended', async () => {
  let isEnded = false;
  const turns = new Turns(() => {
    if (isEnded) throw new Error('ended');
  });
  const first = turns.pass(1);
  const second = turns.pass(2).catch(String);
  void first.then(() => {
    isEnded = true;
  });
  expect(await Promise.all([first, second, turns.pass(3).catch(String)])).toEqual([
    1,
    'Error: ended',
    'Error: ended',
  ]);
});
