import { expect, it } from 'vitest';
import { MAX_TURN, ownTurn, Turns } from '../../src/foundation/turns.ts';

/** Runs work whose parts take a while, and lists them with the turns of others in between. */
async function recorded(work: (note: (what: string, milliseconds: number) => void) => Promise<unknown>) {
  const order: string[] = [];
  let isDone = false;
  const other = () => {
    if (!isDone) {
      order.push('other');
      globalThis.setImmediate(other);
    }
  };
  globalThis.setImmediate(other);
  await work((what, milliseconds) => {
    order.push(what);
    for (const began = performance.now(); performance.now() - began < milliseconds;);
  }).finally(() => (isDone = true));
  return order.join(' ');
}

it('lets others in between pieces of work that ask at the same time', async () => {
  const order = await recorded((note) =>
    Promise.all([1, 2, 3].map((n) => ownTurn().then(() => note(`${n}`, MAX_TURN)))),
  );
  expect(order).toMatch(/^(other )*1 (other )+2 (other )+3$/);
});

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
  let checks = 0;
  const turns = new Turns(() => {
    if (++checks > 1) throw new Error('ended');
  });
  expect(await Promise.all([1, 2, 3].map((n) => turns.pass(n).catch(String)))).toEqual([
    1,
    'Error: ended',
    'Error: ended',
  ]);
});
