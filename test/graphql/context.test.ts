import { expect, it } from 'vitest';
import type { Session } from '../../src/access/session.ts';
import { newContext } from '../../src/graphql/context.ts';
import { RecordSource } from '../../src/graphql/loaders.ts';
import { sqlite, useGateway } from '../kit/petstore.ts';

const kit = useGateway(sqlite);
const source = new RecordSource((store, ids) => store.categoriesById(ids));

/** Whether what else waits has its turn before a record of an operation of this cost is read. */
async function yields(call: { cost: number; isDisconnected?: () => boolean }): Promise<boolean> {
  const session = { store: kit.gateway.store, now: kit.clock.now } as Session;
  const { loaders } = newContext(session, call as never);
  let hadTurn = false;
  const turn = new Promise<void>((resolve) =>
    setImmediate(() => {
      hadTurn = true;
      resolve();
    }),
  );
  expect(await loaders.record(source, '1')).toBeNull();
  const before = hadTurn;
  await turn;
  return before;
}

it('an operation above 20 units lets others have their turn between its levels', async () => {
  const isDisconnected = () => false;
  expect(await yields({ cost: 20, isDisconnected })).toBe(false);
  expect(await yields({ cost: 21, isDisconnected })).toBe(true);
  expect(await yields({ cost: 21 })).toBe(false);
});

it('an operation reads nothing more once its client is gone', async () => {
  let isGone = false;
  const session = { store: kit.gateway.store, now: kit.clock.now } as Session;
  const { loaders } = newContext(session, { cost: 1, isDisconnected: () => isGone } as never);
  expect(loaders.store).toBe(kit.gateway.store);
  expect(await loaders.record(source, '1')).toBeNull();
  isGone = true;
  expect(() => loaders.store).toThrow('The client went away.');
  await expect(loaders.record(source, '2')).rejects.toThrow('The client went away.');
});

it('a context knows the budget after the charge, and the clock', () => {
  const asked: number[] = [];
  const session = {
    store: kit.gateway.store,
    now: () => 7,
    budget: (cost: number) => {
      asked.push(cost);
      return { cost };
    },
  } as unknown as Session;
  const context = newContext(session, { cost: 3 } as never);
  expect([context.rateLimit(), context.now(), asked]).toEqual([{ cost: 3 }, 7, [3]]);
});
