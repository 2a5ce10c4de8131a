import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inOwnTurn, MAX_TURN, ownTurn, Turns } from '../../src/foundation/turns.ts';

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

it('alternates between long work and short requests', async () => {
  const order: string[] = [];
  const work = (name: string, isUrgent: boolean) =>
    new Promise<void>((resolve) => {
      inOwnTurn(() => {
        order.push(name);
        resolve();
      }, isUrgent);
    });
  await Promise.all([
    ...['a', 'b', 'c', 'd'].map((name) => work(name, false)),
    ...['A', 'B'].map((name) => work(name, true)),
  ]);
  expect(order.join('')).toMatch(/^(aAbB|AaBb)cd$/);
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
      for (const began = performance.now(); performance.now() - began < milliseconds; );
    });
  } finally {
    isDone = true;
  }
  return order.join(' ');
}

it('passes results on with what follows from them, and lets others in as time goes by', async () => {
  const order = await recorded(async (note) => {
    const turns = new Turns(() => {});
    const passed = [1, 2, 3].map(async (n) => {
      note(`${await turns.pass(n)}`, 0);
      for (let step = 0; step < 10; step++) await null;
      note('-', MAX_TURN);
    });
    await Promise.all(passed);
  });
  expect(order).toMatch(/^(other )*1 - (other )+2 - (other )+3 -$/);
});

it('reads when all results are passed on, and what was read is passed on in turn', async () => {
  const order = await recorded(async (note) => {
    const turns = new Turns(() => {});
    const read = () => new Promise<void>((resolve) => turns.read(() => resolve(note('read', 0))));
    const passed = [1, 2, 3].map(async (n) => {
      note(`${await turns.pass(n)}`, MAX_TURN);
      if (n === 1) await read();
    });
    await Promise.all(passed);
  });
  expect(order.replaceAll('other ', '')).toBe('1 2 3 read');
});

it('passes nothing on when the request has ended', async () => {
  let isEnded = false;
  const turns = new Turns(() => {
    if (isEnded) throw new Error('ended');
  });
  const [first, second] = [turns.pass(1), turns.pass(2)];
  const outcome = second.catch(String);
  expect(await first).toBe(1);
  isEnded = true;
  expect(await Promise.race([outcome, turns.pass(3).catch(String)])).toBe('Error: ended');
});
