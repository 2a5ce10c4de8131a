import { expect, it } from 'vitest';
import { oneCommandAtATime } from '../../../src/store/mongo/batching.ts';

it('gather does not wait forever for a command; calls behind it are not made later, and those after it are', async () => {
  const commands: (readonly number[])[] = [];
  const send = oneCommandAtATime<number, number>((_name, all) => {
    commands.push(all);
    return commands.length === 1 ? new Promise(() => {}) : Promise.resolve(all);
  }, 200);
  const lost = expect(send('n', 1)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect.poll(() => commands).toEqual([[1]]);
  await expect(send('n', 2)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await lost;
  expect(await send('n', 3)).toBe(3);
  expect(commands).toEqual([[1], [3]]);
});
